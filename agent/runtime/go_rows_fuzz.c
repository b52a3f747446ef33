/* Edits of a small Go program, {u16 where, u8 what} each: its table, its code, moduledata and ELF headers. The first
 * byte says which layout, and as which of the runtime's functions main.f and main.g[int] appear. Whatever comes out
 * must make a sound table. */
#include "cfi/table_elf.h"
#include "runtime/go_crafted.h"
#include "runtime/go_rows.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void rename_function(u8 *file, u32 record, u32 at, const char *name)
{
    u8 *t = file + CRAFTED_TABLE;
    memcpy(t + CRAFTED_NAMES + at, name, strlen(name) + 1);
    crafted_u32(t + CRAFTED_FUNCS + record + 4, at);
}

static void cast(u8 *file, enum go_layout layout, unsigned roles)
{
    static const char *const names[] = {"runtime.morestack",  "runtime.systemstack", "runtime.mcall",
                                        "runtime.asmcgocall", "runtime.sigreturn",   "runtime.sigtramp",
                                        "crosscall2",         "runtime.asyncPreempt"};
    u32 flags = layout == GO_1_20 ? 41 : 37;
    u8 *funcs = file + CRAFTED_TABLE + CRAFTED_FUNCS;
    rename_function(file, 0x40, 1, names[roles & 7]);
    rename_function(file, 0xa0, 30, names[roles >> 3 & 7]);
    funcs[0x40 + flags] = funcs[0xa0 + flags] = GO_SETS_RSP | GO_ASSEMBLY;
    crafted_u32(funcs + 0xa0 + 16, CRAFTED_DEPTHS);
}

static void check(const struct elf_file *e, const struct go_rows *r)
{
    struct table_limits limits = {.max_rows = 1 << 20, .max_rules = 65535};
    struct xp_table *table = NULL;
    size_t len;
    for (size_t i = 0; i < r->code.n; i++)
        if (r->code.rows[i].offset < r->code.start || r->code.rows[i].offset >= r->code.end ||
            (i && r->code.rows[i].offset <= r->code.rows[i - 1].offset))
            abort();
    if (!table_build_elf(e, &r->code, &limits, &table, &len) && table_check(table, len))
        abort();
    free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    u8 file[CRAFTED_SIZE];
    if (!len)
        return 0;
    enum go_layout layout = data[0] & 64 ? GO_1_18 : GO_1_20;
    crafted_program(file, layout);
    if (data[0] & 128)
        cast(file, layout, data[0] & 63);
    for (data++, len--; len >= 3; data += 3, len -= 3)
        file[(data[0] | data[1] << 8) % sizeof(file)] = data[2];
    AUTO_ELF struct elf_file e = {0};
    AUTO_GO_ROWS struct go_rows rows = {0};
    struct gopclntab t;
    if (!elf_open_memory(&e, file, sizeof(file)) && !go_open(&t, &e) && !go_rows_read(&t, &rows))
        check(&e, &rows);
    return 0;
}
