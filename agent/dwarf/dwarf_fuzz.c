/* Debug information of any bytes: the input is cut into sections by its first bytes. Then look-ups in the index, and in
 * a damaged copy of it, for a cache is not believed either. */
#include "base/cleanup.h"
#include "dwarf/crafted.h"
#include "dwarf/names_elf.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define HEAD 16 /* bytes: where sections end, in 256ths of the rest; the last one says what is compressed */

static void check_text(const struct dwarf_index *x, u32 i)
{
    struct dwarf_text t;
    dwarf_index_text(x, i, &t);
    if (t.len > DWARF_INDEX_MAX_TEXT || strlen(t.s) > t.len)
        abort();
}

static void look_up(const void *index, size_t len)
{
    struct dwarf_index x;
    struct dwarf_frame f[DWARF_INDEX_MAX_FRAMES];
    if (dwarf_index_open(&x, index, len))
        return;
    for (u64 i = 0; i < 200; i++)
        for (unsigned n = dwarf_index_find(&x, x.h->base + i * i, f); n--;)
            check_text(&x, f[n].name), check_text(&x, f[n].file);
}

static void check(const struct elf_file *e, const struct dwarf_parts *parts, const uint8_t *data, size_t n)
{
    static const struct dwarf_limits limits = {.cpu_ns = 2000000000ull, .max_bytes = 16 << 20};
    AUTO_FREE u8 *index = NULL;
    size_t len;
    if (dwarf_index_build(e, parts, &limits, (void **)&index, &len))
        return;
    if (dwarf_index_check(index, len))
        abort();
    look_up(index, len);
    for (size_t i = 0; i < 32; i++)
        index[(data[i % n] * 2654435761u + i * 40503u) % len] ^= data[i * 7 % n];
    look_up(index, len);
}

/* A linked file; or one with split units, and its package in the same file. */
static const char *const names[2][CRAFTED_SECTIONS] = {
    {".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_addr", ".debug_rnglists",
     ".debug_str_offsets", ".debug_ranges"},
    {".debug_info", ".debug_abbrev", ".debug_line", ".debug_addr", ".debug_cu_index", ".debug_info.dwo",
     ".debug_abbrev.dwo", ".debug_rnglists.dwo"},
};

/* A whole file, as the corpus has them; else sections. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_BUF struct buf file = {0};
    const struct dwarf_parts itself = {.alt = &e, .dwp = &e}, package = {.dwp = &e};
    if (len <= HEAD)
        return 0;
    if (!memcmp(data, ELFMAG, SELFMAG)) {
        if (!elf_open_memory(&e, data, len))
            check(&e, &package, data, len);
        return 0;
    }
    struct crafted_section s[CRAFTED_SECTIONS];
    const uint8_t *p = data + HEAD, *end = data + len;
    for (unsigned i = 0; i < CRAFTED_SECTIONS; i++) {
        size_t left = (size_t)(end - p), n = i == CRAFTED_SECTIONS - 1 ? left : left * data[i] / 256;
        s[i] = (struct crafted_section){names[data[HEAD - 2] >> 1 & 1][i], p, n,
                                        data[HEAD - 1] >> i & 1 ? SHF_COMPRESSED : 0};
        p += n;
    }
    crafted_elf(&file, s, CRAFTED_SECTIONS);
    if (!elf_open_memory(&e, file.data, file.len))
        check(&e, data[HEAD - 2] & 1 ? &itself : &package, data, len);
    return 0;
}
