#include "cfi/sort.h"
#include "base/cleanup.h"
#include <errno.h>

#define DIGIT_BITS 13
#define DIGITS     (1u << DIGIT_BITS)

/* One stable pass of a radix sort, by the digit at `shift`. */
static void pass(const struct cfi_fde *from, struct cfi_fde *to, size_t n, unsigned shift)
{
    u32 at[DIGITS] = {0}, sum = 0; /* 32 KiB: files up to 64 MiB take two passes */
    for (size_t i = 0; i < n; i++)
        at[from[i].start >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        u32 count = at[d];
        at[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i].start >> shift & (DIGITS - 1)]++] = from[i];
}

int cfi_sort(struct cfi_fde **fdes, size_t n)
{
    AUTO_FREE struct cfi_fde *other = reallocarray(NULL, n, sizeof(*other));
    u64 all = 0;
    if (!other)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        all |= (*fdes)[i].start;
    for (unsigned shift = 0; all >> shift; shift += DIGIT_BITS) {
        pass(*fdes, other, n, shift);
        struct cfi_fde *t = *fdes;
        *fdes = other;
        other = t;
    }
    return 0;
}
