/* An image file with code that was compiled ahead of time, crafted for tests: that of the crafted process, with the
 * tables of such code.
 */
#pragma once
#include "base/cleanup.h"
#include "runtime/dotnet_crafted.h"
#include <stdlib.h>

enum { FILE_BYTES = 0xa00, READY = 0x600, CODE = 0x760, EACH = 0x10, FUNCTIONS = 5 };

static inline void crafted_file_put(u8 *file, u32 at, const void *data, size_t n)
{
    memcpy(file + CRAFTED_RAW + at, data, n);
}

/* Five functions: method 1 and its handler, method 3, instances of method 2 and of another module's. */
static inline void make_file(u8 *file)
{
    static const u8 methods[] = {0x20, 0x01, 0x02, 0x02, 0x1e, 0x02, 0x00, 0x02, 0x08},
                    instances[] = {0,      2,    6,    0xaa, 6, 0xbb, 12, 4, 2,    1, 0x3e,
                                   6 << 1, 0x40, 0x15, 0x3f, 1, 0x12, 8,  1, 0x3e, 7, 8 << 1};
    const u32 header[] = {0x00525452,
                          0,
                          0,
                          3,
                          102,
                          CRAFTED_RVA + 0x680,
                          FUNCTIONS * 12,
                          103,
                          CRAFTED_RVA + 0x700,
                          9,
                          109,
                          CRAFTED_RVA + 0x720,
                          sizeof(instances)};
    const u32 native = CRAFTED_RVA + READY;
    AUTO_FREE struct crafted *c = calloc(1, sizeof(*c));
    crafted_make(c, 0);
    memcpy(file, c->bytes + CRAFTED_IMAGE, FILE_BYTES);
    crafted_file_put(file, 64, &native, sizeof(native));
    crafted_file_put(file, READY, header, sizeof(header));
    for (u32 i = 0; i < FUNCTIONS; i++) {
        u32 from = CRAFTED_RVA + CODE + EACH * i, function[] = {from, from + EACH, 0};
        crafted_file_put(file, 0x680 + 12 * i, function, sizeof(function));
    }
    crafted_file_put(file, 0x700, methods, sizeof(methods));
    crafted_file_put(file, 0x720, instances, sizeof(instances));
}
