/* Checks that what was read of a runtime has to pass before anything is computed with it (runtime_memory_ops.check). */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define MAX_ADDRESS (1ull << 56) /* what fits into a word of a stack; addresses are below */
#define MAX_OFFSET  8192         /* in a structure */

static inline bool offsets_sound(const u16 *v, size_t n, u16 max)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] > max)
            return false;
    return true;
}

/* A terminated text of printable characters without blanks. */
static inline bool version_sound(const char *s, size_t size)
{
    size_t len = strnlen(s, size);
    for (size_t i = 0; i < len; i++)
        if (s[i] <= ' ' || s[i] > '~')
            return false;
    return len < size;
}
