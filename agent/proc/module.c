#include "proc/module.h"
#include "base/hash.h"
#include <elf.h>
#include <string.h>

#define MAX_DYNAMIC 256
#define MAX_CHAIN   256 /* symbols in one bucket; linkers aim at 4 */
#define MAX_NAME    96
#define MAX_MODULES 1024 /* of a process */

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

bool module_next(struct memory *m, struct module_walk *w, struct module *out)
{
    while (w->at < m->maps.n && w->modules < MAX_MODULES) {
        const struct mapping *map = &m->maps.v[w->at++];
        if (map->offset || !map->read || map->plain || !module_read(m, map->start, out))
            continue;
        w->modules++;
        return true;
    }
    return false;
}

struct tables {
    u64 symbols, strings, gnu, sysv; /* DT_GNU_HASH, DT_HASH */
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
            out->gnu = at;
        else if (d[i].d_tag == DT_HASH)
            out->sysv = at;
    }
    return out->symbols && out->strings;
}

struct wanted {
    const char *name;
    u64 size; /* once it was found */
};

/* The symbol's address if it is the one that is meant. */
static u64 symbol_at(struct memory *m, const struct module *mod, const struct tables *t, u32 i, struct wanted *w)
{
    const char *name = w->name;
    Elf64_Sym s;
    char text[MAX_NAME];
    size_t len = strlen(name) + 1;
    if (len > sizeof(text) || !memory_read(m, t->symbols + (u64)i * sizeof(s), &s, sizeof(s)) ||
        s.st_shndx == SHN_UNDEF || !memory_read(m, t->strings + s.st_name, text, len) || memcmp(text, name, len) != 0)
        return 0;
    w->size = s.st_size;
    return mod->bias + s.st_value;
}

/* The table: 4 numbers, a Bloom filter of 64-bit words, buckets with the first symbol of each, and a hash per symbol
 * whose lowest bit ends a chain. */
static u64 by_gnu(struct memory *m, const struct module *mod, const struct tables *t, struct wanted *w)
{
    u32 head[4], bucket, hash = hash_gnu(w->name), one;
    if (!memory_read(m, t->gnu, head, sizeof(head)) || !head[0])
        return 0;
    u64 buckets = t->gnu + sizeof(head) + 8ull * head[2], chains = buckets + 4ull * head[0];
    if (!memory_read(m, buckets + 4ull * (hash % head[0]), &bucket, sizeof(bucket)) || bucket < head[1])
        return 0;
    for (u32 i = bucket; i - bucket < MAX_CHAIN; i++) {
        if (!memory_read(m, chains + 4ull * (i - head[1]), &one, sizeof(one)))
            return 0;
        u64 at = (one | 1) == (hash | 1) ? symbol_at(m, mod, t, i, w) : 0;
        if (at || one & 1)
            return at;
    }
    return 0;
}

/* The hash of DT_HASH (System V ABI, "Hash Table"). */
static u32 hash_sysv(const char *name)
{
    u32 h = 0;
    for (; *name; name++) {
        h = (h << 4) + (u8)*name;
        h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
    }
    return h;
}

/* The table: the numbers of buckets and chains, the first symbol of each bucket, and the next one of each symbol. */
static u64 by_sysv(struct memory *m, const struct module *mod, const struct tables *t, struct wanted *w)
{
    u32 head[2], i;
    if (!memory_read(m, t->sysv, head, sizeof(head)) || !head[0] ||
        !memory_read(m, t->sysv + sizeof(head) + 4ull * (hash_sysv(w->name) % head[0]), &i, sizeof(i)))
        return 0;
    for (unsigned n = 0; i && n < MAX_CHAIN; n++) {
        u64 at = symbol_at(m, mod, t, i, w);
        if (at || !memory_read(m, t->sysv + sizeof(head) + 4ull * head[0] + 4ull * i, &i, sizeof(i)))
            return at;
    }
    return 0;
}

u64 module_symbol_sized(struct memory *m, const struct module *mod, const char *name, u64 *size)
{
    struct tables t;
    struct wanted w = {.name = name};
    if (!read_dynamic(m, mod, &t))
        return 0;
    u64 at = t.gnu ? by_gnu(m, mod, &t, &w) : t.sysv ? by_sysv(m, mod, &t, &w) : 0;
    *size = w.size;
    return at;
}

u64 module_symbol(struct memory *m, const struct module *mod, const char *name)
{
    u64 size;
    return module_symbol_sized(m, mod, name, &size);
}
