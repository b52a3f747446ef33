/* Any bytes as names: mangled ones, symbol tables, kallsyms, images of it, notes of probes. The first byte says which.
 */
#include "base/cleanup.h"
#include "base/utf8.h"
#include "dwarf/demangle.h"
#include "elf/functions.h"
#include "elf/usdt.h"
#include "dwarf/crafted.h"
#include "proc/kallsyms.h"
#include "dwarf/names_elf.h"
#include "dwarf/symbols_crafted.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_text(const char *s, size_t len)
{
    for (size_t i = 0, n; i < len; i += n)
        if (!(n = utf8_len(s + i, len - i)) || !s[i])
            abort();
}

static void mangled(const uint8_t *data, size_t len)
{
    AUTO_BUF struct buf b = {0};
    demangle((const char *)data, len, data[0] & 1 ? DEMANGLE_SHORT : DEMANGLE_FULL, &b);
    check_text(b.data, b.len);
}

static void table(const uint8_t *data, size_t len)
{
    u8 file[CRAFTED_SYMBOLS];
    crafted_symbols(data, len, file);
    AUTO_ELF struct elf_file e = {0};
    AUTO_BUF struct buf reply = {0};
    struct names v;
    static const u64 offsets[] = {0,
                                  1,
                                  100,
                                  0x1000,
                                  0x2020,
                                  0x2020,
                                  0x8000,
                                  0x4141,
                                  0xffff,
                                  0x20 | NAMES_DATA,
                                  0x2020 | NAMES_DATA,
                                  0x8000 | NAMES_DATA,
                                  ~0ull};
    const size_t n = sizeof(offsets) / sizeof(offsets[0]);
    if (elf_open_memory(&e, file, sizeof(file)) ||
        names_resolve_elf(&e, NULL, NULL, DEMANGLE_FULL, offsets, n, &reply) ||
        names_view(reply.data, reply.len, n, &v))
        abort();
    AUTO_BUF struct buf found = {0};
    functions_find_elf(&e, &e, "*a?*", NULL, &found);
    if (!functions_sound(found.data, found.len))
        abort();
    for (size_t i = 0; i < n; i++) {
        const char *name = v.strings + v.frames[v.first[i]].name;
        check_text(name, strlen(name));
    }
}

static void notes(const uint8_t *data, size_t len)
{
    AUTO_BUF struct buf file = {0}, found = {0};
    AUTO_ELF struct elf_file e = {0};
    struct crafted_section s = {".note.stapsdt", data, len, 0};
    crafted_elf(&file, &s, 1);
    Elf64_Phdr *p = (void *)(file.data + sizeof(Elf64_Ehdr));
    p->p_filesz = file.len;
    if (elf_open_memory(&e, file.data, file.len))
        abort();
    usdt_find_elf(&e, "*a?*", &found);
    if (!usdt_sound(found.data, found.len))
        abort();
}

static void text(const uint8_t *data, size_t len)
{
    CLEANUP(kallsyms_free) struct kallsyms *k = NULL;
    AUTO_FCLOSE FILE *f = fmemopen((void *)data, len, "r");
    struct kallsym s;
    if (f && !kallsyms_new_from(&k, f))
        for (u64 a = 0xffffffff81000000; a; a <<= 1)
            kallsyms_find(k, a, &s);
}

static void image(const uint8_t *data, size_t len)
{
    CLEANUP(kallsyms_free) struct kallsyms *k = NULL;
    AUTO_FREE void *aligned = malloc(len);
    struct kallsym s;
    if (!aligned)
        return;
    memcpy(aligned, data, len);
    if (kallsyms_new_view(&k, aligned, len))
        return;
    for (u64 a = 0xffffffff81000000; a; a <<= 1)
        for (u64 below = 0; below < 3; below++)
            if (kallsyms_find_inside(k, a - below, &s) && !kallsyms_find(k, a - below, &s))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 2)
        return 0;
    switch (data[0] % 5) {
    case 0:
        mangled(data + 1, len - 1);
        break;
    case 1:
        table(data + 1, len - 1);
        break;
    case 2:
        text(data + 1, len - 1);
        break;
    case 3:
        notes(data + 1, len - 1);
        break;
    default:
        image(data + 1, len - 1);
    }
    return 0;
}
