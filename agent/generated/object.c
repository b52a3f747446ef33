/* An object is what a compiler would have written to a file, with the addresses of its sections as they were loaded. In
 * one that was not linked (ET_REL), addresses are relative to their section, and its CFI is not relocated: the copy
 * that was loaded is.
 */
#include "base/cleanup.h"
#include "cfi/cfi.h"
#include "dwarf/demangle.h"
#include "elf/elf.h"
#include "elf/symbols.h"
#include "generated/descriptor.h"
#include <string.h>

#define MAX_TEXT    ((size_t)32 << 20)
#define MAX_SECTION ((size_t)16 << 20)

/* ---- Symbols ---------------------------------------------------------------------------------------------------- */

/* The address; 0: it is not that of generated code. */
static u64 address_of(const struct memory *m, const struct elf_file *e, const Elf64_Sym *s)
{
    struct elf_section in;
    u64 at = s->st_value;
    if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || !s->st_size || s->st_shndx == SHN_UNDEF)
        return 0;
    if (e->type == ET_REL) {
        if (!elf_section_at(e, s->st_shndx, &in))
            return 0;
        at += in.addr;
    }
    const struct mapping *code = memory_mapping(m, at);
    return code && mapping_is_code(code) && s->st_size <= code->end - at ? at : 0;
}

/* A name is one line, whatever is in it. */
static void add_name(const char *name, size_t len, struct buf *text)
{
    size_t from = text->len;
    demangle(name, len, DEMANGLE_FULL, text);
    for (size_t i = from; i < text->len && !text->failed; i++)
        if ((u8)text->data[i] < ' ')
            text->data[i] = '?';
    buf_char(text, '\n');
}

static void read_symbols(const struct memory *m, const struct elf_file *e, struct buf *text)
{
    struct elf_section table, strings;
    Elf64_Sym s;
    if (!elf_section(e, ".symtab", &table) || !elf_section_at(e, table.link, &strings))
        return;
    for (size_t i = 0; i + sizeof(s) <= table.len && text->len < MAX_TEXT && !text->failed; i += sizeof(s)) {
        memcpy(&s, table.data + i, sizeof(s));
        u64 at = address_of(m, e, &s);
        if (!at || s.st_name >= strings.len)
            continue;
        size_t len = strnlen((const char *)strings.data + s.st_name, strings.len - s.st_name);
        buf_printf(text, "%llx %llx ", (unsigned long long)at, (unsigned long long)s.st_size);
        add_name((const char *)strings.data + s.st_name, len < SYMBOLS_MAX_NAME ? len : SYMBOLS_MAX_NAME, text);
    }
}

/* ---- CFI -------------------------------------------------------------------------------------------------------- */

static void add_loaded(struct memory *m, const struct elf_section *in, struct sections *s)
{
    if (!in->addr || !in->len || in->len > MAX_SECTION)
        return;
    AUTO_FREE u8 *bytes = malloc(in->len);
    if (bytes && memory_read(m, in->addr, bytes, in->len))
        sections_add(s, in->addr, bytes, in->len, false);
}

static void read_cfi(struct memory *m, const struct elf_file *e, struct sections *s)
{
    struct elf_section in;
    if (elf_section(e, ".eh_frame", &in) && e->type == ET_REL)
        add_loaded(m, &in, s);
    if (e->type == ET_REL)
        return;
    AUTO_CFI struct cfi c = {0};
    cfi_find(&c, e);
    for (size_t i = 0; i < c.nsections; i++)
        sections_add(s, c.section[i].vaddr, c.section[i].data, c.section[i].len, c.section[i].debug);
}

void object_read(struct memory *m, const u8 *bytes, size_t len, struct sections *s, struct buf *text)
{
    AUTO_ELF struct elf_file e = {0};
    if (elf_open_memory(&e, bytes, len))
        return;
    read_symbols(m, &e, text);
    read_cfi(m, &e, s);
}
