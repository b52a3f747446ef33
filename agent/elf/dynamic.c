#include "elf/dynamic.h"
#include "base/hash.h"
#include <string.h>

#define MAX_CHAIN 4096 /* symbols of one bucket; real ones have a dozen */

static u64 *member(struct elf_dynamic *d, s64 tag)
{
    switch (tag) {
    case DT_GNU_HASH:
        return &d->hash;
    case DT_SYMTAB:
        return &d->symtab;
    case DT_STRTAB:
        return &d->strtab;
    case DT_STRSZ:
        return &d->strsz;
    case DT_INIT:
        return &d->init;
    case DT_FINI:
        return &d->fini;
    case DT_INIT_ARRAY:
        return &d->init_array;
    case DT_INIT_ARRAYSZ:
        return &d->init_array_size;
    case DT_FINI_ARRAY:
        return &d->fini_array;
    case DT_FINI_ARRAYSZ:
        return &d->fini_array_size;
    case DT_RELA:
        return &d->rela;
    case DT_RELASZ:
        return &d->rela_size;
    default:
        return NULL;
    }
}

bool elf_dynamic(const struct elf_file *e, struct elf_dynamic *out)
{
    Elf64_Phdr p;
    size_t left;
    *out = (struct elf_dynamic){0};
    if (!elf_find_phdr(e, PT_DYNAMIC, &p))
        return false;
    const u8 *at = elf_at(e, p.p_vaddr, &left);
    Elf64_Dyn dyn;
    for (; at && left >= sizeof(dyn); at += sizeof(dyn), left -= sizeof(dyn)) {
        memcpy(&dyn, at, sizeof(dyn));
        u64 *to = member(out, dyn.d_tag);
        if (dyn.d_tag == DT_NULL)
            break;
        if (to)
            *to = dyn.d_un.d_val;
    }
    return at;
}

static bool u32_at(const struct elf_file *e, u64 vaddr, u32 *out)
{
    size_t left;
    const u8 *p = elf_at(e, vaddr, &left);
    if (!p || left < sizeof(*out))
        return false;
    memcpy(out, p, sizeof(*out));
    return true;
}

static bool symbol_is(const struct elf_file *e, const struct elf_dynamic *d, u32 i, const char *name, Elf64_Sym *out)
{
    Elf64_Sym sym;
    size_t left, n = strlen(name) + 1;
    const u8 *p = elf_at(e, d->symtab + (u64)i * sizeof(sym), &left);
    if (!p || left < sizeof(sym))
        return false;
    memcpy(&sym, p, sizeof(sym));
    *out = sym;
    p = elf_at(e, d->strtab + sym.st_name, &left);
    return p && left >= n && !memcmp(p, name, n) && sym.st_shndx != SHN_UNDEF;
}

/* As the dynamic linker does it. */
bool elf_dynamic_symbol(const struct elf_file *e, const char *name, Elf64_Sym *out)
{
    struct elf_dynamic d;
    u32 head[4], i, h = hash_gnu(name); /* nbuckets, first symbol, bloom words, bloom shift */
    if (!elf_dynamic(e, &d) || !d.hash || !d.symtab || !d.strtab)
        return false;
    for (unsigned k = 0; k < 4; k++)
        if (!u32_at(e, d.hash + 4 * k, &head[k]))
            return false;
    u64 buckets = d.hash + 16 + 8ull * head[2], chains = buckets + 4ull * head[0];
    if (!head[0] || !u32_at(e, buckets + 4ull * (h % head[0]), &i) || i < head[1])
        return false;
    for (unsigned k = 0; k < MAX_CHAIN; k++, i++) {
        u32 c;
        if (!u32_at(e, chains + 4ull * (i - head[1]), &c))
            return false;
        if ((c | 1) == (h | 1) && symbol_is(e, &d, i, name, out))
            return true;
        if (c & 1) /* the last of its bucket */
            return false;
    }
    return false;
}

bool elf_has_dynamic_symbol(const struct elf_file *e, const char *name)
{
    Elf64_Sym sym;
    return elf_dynamic_symbol(e, name, &sym);
}
