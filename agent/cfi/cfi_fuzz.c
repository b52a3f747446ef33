/* Any bytes as a CFI section over 64 KiB of code; the first byte says of which kind. */
#include "base/cleanup.h"
#include "cfi/table_elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct elf_segment code = {.offset = 0x1000, .vaddr = 0x2000, .filesz = 0x10000, .flags = PF_X};
    const struct elf_file e = {.loads = (struct elf_segment *)&code, .nloads = 1};
    AUTO_CFI struct cfi c = {.elf = &e, .nsections = 1};
    u32 index[70], *rows = NULL;
    struct rows w;
    if (!len)
        return 0;
    c.section[0] = (struct cfi_section){
        .data = data + 1, .len = len - 1, .vaddr = 0x20000, .debug = *data & 1, .open_ended = *data & 2};
    if (cfi_list(&c, 100000) || !c.fdes.n)
        return 0;
    size_t cap = c.ins_bytes + 6 * c.fdes.n + 16;
    rows = malloc(4 * cap);
    if (rows_init(&w, 0x1000, 65, index, rows, (u32)cap, 65535))
        abort();
    for (size_t i = 0; i < c.fdes.n; i++) {
        struct rows_mark m = rows_mark(&w);
        if (cfi_run(&c, &c.fdes.v[i], &w))
            rows_rewind(&w, m);
    }
    rows_finish(&w);
    if (w.n > cap || index[65] != w.n)
        abort();
    rows_free(&w);
    free(rows);
    return 0;
}
