#include "object/cfi_sort.h"
#include "base/cleanup.h"
#include <errno.h>

#define INDEX_BITS 24
#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)
_Static_assert(CFI_MAX_FDES <= 1u << INDEX_BITS && XP_OFFSET_BITS + INDEX_BITS <= 64, "a key holds offset and index");

/* One stable pass of a radix sort, by the digit at `shift`. */
static void pass(const u64 *from, u64 *to, size_t n, unsigned shift)
{
    size_t at[DIGITS] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++)
        at[from[i] >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t count = at[d];
        at[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

int cfi_sort(struct cfi_fde *fdes, size_t n)
{
    AUTO_FREE u64 *a = reallocarray(NULL, n, sizeof(*a));
    AUTO_FREE u64 *b = reallocarray(NULL, n, sizeof(*b));
    AUTO_FREE struct cfi_fde *sorted = reallocarray(NULL, n, sizeof(*sorted));
    if (!a || !b || !sorted)
        return -ENOMEM;
    u64 highest = 0, *from = a, *to = b;
    for (size_t i = 0; i < n; i++) {
        a[i] = fdes[i].start << INDEX_BITS | i;
        highest = highest > a[i] ? highest : a[i];
    }
    for (unsigned shift = INDEX_BITS; shift < 64 && highest >> shift; shift += DIGIT_BITS) {
        pass(from, to, n, shift);
        u64 *t = from;
        from = to;
        to = t;
    }
    for (size_t i = 0; i < n; i++)
        sorted[i] = fdes[from[i] & ((1u << INDEX_BITS) - 1)];
    memcpy(fdes, sorted, n * sizeof(*fdes));
    return 0;
}
