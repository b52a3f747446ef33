/* Name indexes of any bytes: as an index from the disk or from a child, and as the symbols of a file, whose index says
 * what reading the file says. The first byte says which. */
#include "base/cleanup.h"
#include "dwarf/name_index.h"
#include "dwarf/names_elf.h"
#include "dwarf/symbols_crafted.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void look_up(const void *index, size_t len)
{
    struct name_index x;
    struct name_index_text text;
    struct name_hit hit;
    u64 address;
    if (name_index_open(&x, index, len))
        return;
    for (u64 i = 0; i < 200; i++) {
        name_index_find(&x, x.h->base + i * i, &text, &hit);
        if (hit.len > sizeof(text.s) || (hit.kind >= NAME_STUB) != (hit.name != NULL))
            abort();
        name_index_address(&x, i * i, &address);
    }
}

/* The header is made good: else nothing gets past it. */
static void image(const uint8_t *data, size_t len)
{
    struct name_index_header h;
    if (len < sizeof(h) + 8)
        return;
    AUTO_FREE u8 *copy = malloc(len);
    memcpy(copy, data, len);
    memcpy(&h, copy, sizeof(h));
    h.magic = NAME_INDEX_MAGIC;
    h.nsegments %= 3;
    h.nblocks %= 64;
    size_t fixed = sizeof(h) + h.nsegments * sizeof(struct name_index_segment) + 4 * (2 * (size_t)h.nblocks + 1);
    h.rows_len = len > fixed ? (u32)(len - fixed) : 0;
    memcpy(copy, &h, sizeof(h));
    look_up(copy, len);
}

static void compare(const struct elf_file *e, const struct name_index *x, u64 offset)
{
    AUTO_BUF struct buf a = {0}, b = {0};
    struct names read, found;
    if (names_resolve_elf(e, NULL, NULL, DEMANGLE_FULL, &offset, 1, &a) ||
        names_resolve_index(x, NULL, DEMANGLE_FULL, &offset, 1, &b) || names_view(a.data, a.len, 1, &read) ||
        names_view(b.data, b.len, 1, &found))
        abort();
    if (read.frames[0].start != found.frames[0].start ||
        strcmp(read.strings + read.frames[0].system_name, found.strings + found.frames[0].system_name) != 0)
        abort();
}

static void symbols(const uint8_t *data, size_t len)
{
    static const u64 offsets[] = {0, 1, 100, 0x1000, 0x2020, 0x8000, 0x4141, 0xffff, NAMES_DATA - 1};
    u8 file[CRAFTED_SYMBOLS];
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE void *index = NULL;
    struct name_index x;
    size_t n;
    crafted_symbols(data, len, file);
    if (elf_open_memory(&e, file, sizeof(file)))
        abort();
    if (name_index_build(&e, NULL, false, &index, &n))
        return; /* too large */
    if (name_index_check(index, n) || name_index_open(&x, index, n))
        abort();
    for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
        compare(&e, &x, offsets[i]);
    for (size_t i = 0; i + 2 <= len && i < 64; i += 2)
        compare(&e, &x, (u64)data[i] << 8 | data[i + 1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 2)
        return 0;
    if (data[0] % 2)
        image(data + 1, len - 1);
    else
        symbols(data + 1, len - 1);
    return 0;
}
