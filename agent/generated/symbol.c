#include "generated/symbol.h"
#include "elf/dynamic.h"
#include <elf.h>
#include <string.h>

#define MAX_DYNAMIC 256
#define MAX_CHAIN   256 /* symbols in one bucket; linkers aim at 4 */
#define MAX_NAME    64

static Elf64_Phdr phdr_of(const struct module *mod, unsigned i)
{
    Elf64_Phdr h;
    memcpy(&h, mod->phdrs + i * sizeof(h), sizeof(h));
    return h;
}

static bool find_phdr(const struct module *mod, u32 type, Elf64_Phdr *out)
{
    for (unsigned i = 0; i < mod->nphdrs; i++) {
        *out = phdr_of(mod, i);
        if (out->p_type == type)
            return true;
    }
    return false;
}

bool module_read(struct memory *m, u64 base, struct module *out)
{
    Elf64_Ehdr h;
    Elf64_Phdr load;
    struct module mod = {.base = base};
    if (!memory_read(m, base, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof(load) ||
        h.e_phnum > sizeof(mod.phdrs) / sizeof(load) || h.e_phoff > UINT32_MAX)
        return false;
    mod.nphdrs = h.e_phnum;
    if (!memory_read(m, base + h.e_phoff, mod.phdrs, mod.nphdrs * sizeof(load)) || !find_phdr(&mod, PT_LOAD, &load))
        return false;
    mod.bias = base - (load.p_vaddr - load.p_offset); /* the first one has the header */
    *out = mod;
    return true;
}

struct tables {
    u64 symbols, strings, hash;
};

/* glibc has put addresses in the place of the numbers in the file, musl leaves them alone. */
static u64 relocated(const struct module *mod, u64 v)
{
    return v < mod->base ? v + mod->bias : v;
}

static bool read_dynamic(struct memory *m, const struct module *mod, struct tables *out)
{
    Elf64_Phdr h;
    Elf64_Dyn d[MAX_DYNAMIC];
    *out = (struct tables){0};
    if (!find_phdr(mod, PT_DYNAMIC, &h))
        return false;
    size_t n = h.p_memsz / sizeof(*d) < MAX_DYNAMIC ? h.p_memsz / sizeof(*d) : MAX_DYNAMIC;
    if (!memory_read(m, mod->bias + h.p_vaddr, d, n * sizeof(*d)))
        return false;
    for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++) {
        u64 at = relocated(mod, d[i].d_un.d_ptr);
        if (d[i].d_tag == DT_SYMTAB)
            out->symbols = at;
        else if (d[i].d_tag == DT_STRTAB)
            out->strings = at;
        else if (d[i].d_tag == DT_GNU_HASH)
            out->hash = at;
    }
    return out->symbols && out->strings && out->hash;
}

/* The symbol's address if it is the one that is meant. */
static u64 symbol_at(struct memory *m, const struct module *mod, const struct tables *t, u32 i, const char *name)
{
    Elf64_Sym s;
    char text[MAX_NAME];
    size_t len = strlen(name) + 1;
    if (len > sizeof(text) || !memory_read(m, t->symbols + (u64)i * sizeof(s), &s, sizeof(s)) ||
        s.st_shndx == SHN_UNDEF || !memory_read(m, t->strings + s.st_name, text, len) || memcmp(text, name, len) != 0)
        return 0;
    return mod->bias + s.st_value;
}

/* The table: 4 numbers, a Bloom filter of 64-bit words, buckets with the first symbol of each, and a hash per symbol
 * whose lowest bit ends a chain. */
u64 module_symbol(struct memory *m, const struct module *mod, const char *name)
{
    struct tables t;
    u32 head[4], bucket, hash = elf_gnu_hash(name), one;
    if (!read_dynamic(m, mod, &t) || !memory_read(m, t.hash, head, sizeof(head)) || !head[0])
        return 0;
    u64 buckets = t.hash + sizeof(head) + 8ull * head[2], chains = buckets + 4ull * head[0];
    if (!memory_read(m, buckets + 4ull * (hash % head[0]), &bucket, sizeof(bucket)) || bucket < head[1])
        return 0;
    for (u32 i = bucket; i - bucket < MAX_CHAIN; i++) {
        if (!memory_read(m, chains + 4ull * (i - head[1]), &one, sizeof(one)))
            return 0;
        u64 at = (one | 1) == (hash | 1) ? symbol_at(m, mod, &t, i, name) : 0;
        if (at || one & 1)
            return at;
    }
    return 0;
}
