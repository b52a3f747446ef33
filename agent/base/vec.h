/* A growable array: VEC(struct row) rows = {0}; *VEC_PUSH(&rows) = r; vec_free(&rows).
 * The caller limits its growth. A failed allocation returns NULL and leaves the array unchanged.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define VEC(T)         \
    struct {           \
        T *v;          \
        size_t n, cap; \
    }

/* Reserves room for `want` items of `size` bytes. Returns 0 or -1. Doubles the capacity, so that pushes are amortised
 * O(1). */
static inline int vec_reserve_(void **v, size_t *cap, size_t want, size_t size)
{
    if (want <= *cap)
        return 0;
    size_t c = *cap ? *cap : 8;
    while (c < want)
        c *= 2;
    void *p = reallocarray(*v, c, size);
    if (!p)
        return -1;
    *v = p;
    *cap = c;
    return 0;
}

#define VEC_RESERVE(a, want) vec_reserve_((void **)&(a)->v, &(a)->cap, (want), sizeof(*(a)->v))

/* Returns a pointer to a new, uninitialised last item, or NULL if out of memory. */
#define VEC_PUSH(a) (VEC_RESERVE((a), (a)->n + 1) ? NULL : &(a)->v[(a)->n++])

#define vec_free(a)            \
    do {                       \
        free((a)->v);          \
        (a)->v = NULL;         \
        (a)->n = (a)->cap = 0; \
    } while (0)
