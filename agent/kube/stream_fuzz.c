/* Answers of a server: the input in pieces, as lines and as a list; both must not depend on where it was cut. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "kube/items.h"
#include "kube/lines.h"

static bool mix(void *ctx, const char *text, size_t n)
{
    uint64_t *sum = ctx;
    *sum = hash_bytes(text, n, *sum);
    return true;
}

static uint64_t read_in(const uint8_t *data, size_t size, size_t step)
{
    CLEANUP(lines_free) struct lines l = {.max = 64};
    CLEANUP(items_free) struct items t = {.max = 64};
    uint64_t sum = 0, of_items = 0;
    for (size_t at = 0; at < size; at += step) {
        size_t n = size - at < step ? size - at : step;
        lines_feed(&l, (const char *)data + at, n, mix, &sum);
        items_feed(&t, (const char *)data + at, n, mix, &of_items);
    }
    return sum + 3 * of_items + l.oversize + t.oversize + items_complete(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t whole = read_in(data, size, size ? size : 1);
    if (whole != read_in(data, size, 1) || whole != read_in(data, size, 7))
        __builtin_trap();
    return 0;
}
