/* .gnu_debugdata of any bytes; with a first byte that is even, the bytes are what was compressed. */
#include "base/cleanup.h"
#include "dwarf/crafted.h"
#include "elf/mini_debug.h"
#include "elf/symbols.h"
#include <lzma.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void look_up(const struct elf_file *e, const struct elf_file *inner)
{
    static const u64 offsets[] = {0, 64, 1000, 0x10000, ~0ull};
    struct symbol found[5];
    if (symbols_find(e, inner, offsets, 5, found))
        return;
    for (int i = 0; i < 5; i++)
        if (found[i].name && (found[i].len > SYMBOLS_MAX_NAME || strnlen(found[i].name, found[i].len) < found[i].len))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO_BUF struct buf file = {0};
    AUTO_ELF struct elf_file e = {0};
    AUTO_BYTES struct elf_bytes bytes = {0};
    AUTO_ELF struct elf_file inner = {0};
    static u8 xz[1 << 20];
    size_t n = 0;
    if (!len || len > sizeof(xz) / 2)
        return 0;
    struct crafted_section s = {".gnu_debugdata", data + 1, len - 1, 0};
    if (!(data[0] & 1) &&
        lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data + 1, len - 1, xz, &n, sizeof(xz)) == LZMA_OK)
        s = (struct crafted_section){".gnu_debugdata", xz, n, 0};
    crafted_elf(&file, &s, 1);
    if (!elf_open_memory(&e, file.data, file.len) && !mini_debug_open(&e, &bytes, &inner))
        look_up(&e, &inner);
    return 0;
}
