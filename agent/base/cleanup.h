/* Ownership by scope: an owning local carries one of these attributes and leaves its function only through TAKE_*.
 * So a function can be shown to be free of leaks without reading the functions that it calls.
 */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* Pass on an owning pointer or descriptor. The local variable is cleared, so its cleanup does nothing. */
#define TAKE_PTR(p)                       \
    ({                                    \
        __typeof__(p) *take_p_ = &(p);    \
        __typeof__(p) take_v_ = *take_p_; \
        *take_p_ = NULL;                  \
        take_v_;                          \
    })
#define TAKE_FD(fd)             \
    ({                          \
        int *take_f_ = &(fd);   \
        int take_d_ = *take_f_; \
        *take_f_ = -1;          \
        take_d_;                \
    })

static inline void xp_cleanup_free(void *p)
{
    free(*(void **)p);
}
static inline void xp_cleanup_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
static inline void xp_cleanup_fclose(FILE **f)
{
    if (*f)
        fclose(*f);
}

#define AUTO_FREE   CLEANUP(xp_cleanup_free)   /* malloc'ed memory; initialise to NULL */
#define AUTO_CLOSE  CLEANUP(xp_cleanup_close)  /* file descriptor; initialise to -1 */
#define AUTO_FCLOSE CLEANUP(xp_cleanup_fclose) /* FILE *; initialise to NULL */
