#include "elf/facts.h"
#include "elf/elf.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

#define MAX_COMMENT ((size_t)64 << 10) /* of .comment: a line for each compiler */

static u32 count(const struct elf_file *e, const char *section)
{
    struct elf_section s;
    bool there = elf_section(e, section, &s);
    size_t n = there ? s.len / sizeof(Elf64_Sym) : 0;
    return n > UINT32_MAX ? UINT32_MAX : (u32)n;
}

static bool has(const struct elf_file *e, const char *section)
{
    struct elf_section s;
    return elf_section(e, section, &s);
}

/* Compilers leave their names there. */
static bool comment_says(const struct elf_file *e, const char *word)
{
    struct elf_section s;
    if (!elf_section(e, ".comment", &s))
        return false;
    return memmem(s.data, s.len < MAX_COMMENT ? s.len : MAX_COMMENT, word, strlen(word));
}

/* Names of libraries that it needs, and of what it takes from them. */
static bool links_with(const struct elf_file *e, const char *word)
{
    struct elf_section s;
    return elf_section(e, ".dynstr", &s) && memmem(s.data, s.len, word, strlen(word));
}

static const char *language(const struct elf_file *e)
{
    if (has(e, ".gopclntab") || has(e, ".data.rel.ro.gopclntab") || has(e, ".note.go.buildid"))
        return "Go";
    if (comment_says(e, "rustc") || links_with(e, "rust_eh_personality"))
        return "Rust";
    if (comment_says(e, "LDC") || links_with(e, "libphobos") || links_with(e, "libdruntime"))
        return "D";
    if (links_with(e, "libgfortran"))
        return "Fortran";
    if (links_with(e, "libstdc++") || links_with(e, "libc++.") || links_with(e, "_ZSt") ||
        links_with(e, "__cxa_throw") ||
        (!has(e, ".dynstr") && has(e, ".gcc_except_table"))) /* a C library has some, too */
        return "C++";
    return has(e, ".text") || e->nloads ? "C" : "";
}

int facts_read(int fd, struct facts *out)
{
    AUTO_ELF struct elf_file e = {0};
    Elf64_Phdr interpreter;
    int err = elf_open(&e, fd);
    if (err)
        return err;
    *out = (struct facts){.magic = FACTS_MAGIC, .type = e.type, .size = e.size};
    out->dynamic = elf_find_phdr(&e, PT_INTERP, &interpreter);
    out->symbols = count(&e, ".symtab");
    out->dynamic_symbols = count(&e, ".dynsym");
    strncpy(out->language, language(&e), sizeof(out->language) - 1);
    for (size_t i = 0; i < e.nloads && out->nsegments < FACTS_SEGMENTS; i++)
        if (e.loads[i].flags & PF_X)
            out->segments[out->nsegments++] = (struct facts_segment){
                .offset = e.loads[i].offset, .vaddr = e.loads[i].vaddr, .size = e.loads[i].filesz};
    return 0;
}

bool facts_sound(const void *data, size_t len)
{
    struct facts f;
    if (len != sizeof(f))
        return false;
    memcpy(&f, data, len);
    const char *end = memchr(f.language, 0, sizeof(f.language));
    for (const char *c = f.language; end && c < end; c++)
        if (!isalnum((unsigned char)*c) && *c != '+')
            return false;
    return end && f.magic == FACTS_MAGIC && f.nsegments <= FACTS_SEGMENTS;
}

bool facts_offset(const struct facts *f, u64 address, u64 *offset)
{
    for (size_t i = 0; i < f->nsegments; i++)
        if (address - f->segments[i].vaddr < f->segments[i].size) {
            *offset = address - f->segments[i].vaddr + f->segments[i].offset;
            return true;
        }
    return false;
}

bool facts_address(const struct facts *f, u64 offset, u64 *address)
{
    for (size_t i = 0; i < f->nsegments; i++)
        if (offset - f->segments[i].offset < f->segments[i].size) {
            *address = offset - f->segments[i].offset + f->segments[i].vaddr;
            return true;
        }
    return false;
}
