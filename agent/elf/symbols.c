#include "elf/symbols.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "elf/dynamic.h"
#include <errno.h>
#include <string.h>

#define COMPARE 256 /* bytes of names that decide between aliases: bounds what hostile tables cost */

/* Of the symbols that start in (offsets[i - 1], offsets[i]]. */
struct slot {
    struct symbol inner; /* covers offsets[i], latest start */
    struct symbol outer; /* covers offsets[i], furthest end: may cover later offsets too */
    struct symbol last;  /* latest start, whatever it covers */
};

struct finder {
    const struct elf_file *e;
    const u64 *offsets;
    size_t n;
    struct slot *slots; /* n */
    const struct elf_segment *seg;
    u32 *first; /* of each piece of 1 << shift bytes from offsets[0]: the first offset in it or behind */
    size_t pieces;
    unsigned shift;

    bool data;  /* offsets are link-time addresses of data */
    bool lists; /* all symbols, instead of those at the offsets */
    VEC(struct symbol) list;
    size_t max;
    int error;
};

/* Names are measured only when they matter: most symbols are nobody's. */
static u32 name_len(const struct symbol *s)
{
    u32 len = (u32)strnlen(s->name, s->len);
    const char *version = memchr(s->name + 1, '@', len ? len - 1 : 0);
    return version ? (u32)(version - s->name) : len;
}

static unsigned underscores(const struct symbol *s, u32 len)
{
    unsigned n = 0;
    while (n < len && n < COMPARE && s->name[n] == '_')
        n++;
    return n;
}

/* Of two symbols at one start and of one kind. */
static bool better_name(const struct symbol *a, u32 la, const struct symbol *b, u32 lb)
{
    unsigned ua = underscores(a, la), ub = underscores(b, lb);
    if (ua != ub)
        return ua < ub;
    if (la != lb)
        return la < lb;
    int order = memcmp(a->name, b->name, la < COMPARE ? la : COMPARE);
    return order ? order < 0 : a->name < b->name; /* the same in every order of the table */
}

/* Of two symbols at one start. */
static bool better_alias(const struct symbol *a, const struct symbol *b)
{
    if (!*a->name != !*b->name)
        return *a->name;
    if (a->sized != b->sized)
        return a->sized;
    if (a->rank != b->rank)
        return a->rank > b->rank;
    return a->name != b->name && better_name(a, name_len(a), b, name_len(b));
}

static bool later(const struct symbol *a, const struct symbol *b)
{
    return !b->name || a->start > b->start || (a->start == b->start && better_alias(a, b));
}

static bool further(const struct symbol *a, const struct symbol *b)
{
    return !b->name || a->end > b->end || (a->end == b->end && later(a, b));
}

/* Twice as many pieces as offsets, or a few more: an offset is then found in one or two steps. */
static int make_pieces(struct finder *f)
{
    u64 span = f->offsets[f->n - 1] - f->offsets[0];
    while (span >> f->shift > 2 * f->n)
        f->shift++;
    f->pieces = (span >> f->shift) + 1;
    f->first = reallocarray(NULL, f->pieces + 1, sizeof(*f->first));
    if (!f->first)
        return -ENOMEM;
    for (size_t p = 0, i = 0; p < f->pieces; p++) {
        while ((f->offsets[i] - f->offsets[0]) >> f->shift < p)
            i++;
        f->first[p] = (u32)i;
    }
    return 0;
}

/* Index of the first offset at or above `start`; n: none. */
static size_t place(const struct finder *f, u64 start)
{
    if (start <= f->offsets[0])
        return 0;
    u64 p = (start - f->offsets[0]) >> f->shift;
    if (p >= f->pieces)
        return f->n;
    size_t i = f->first[p], hi = p + 1 < f->pieces ? f->first[p + 1] : f->n;
    while (i < hi && hi - i > 8) { /* offsets that crowd in one piece */
        size_t mid = i + (hi - i) / 2;
        if (f->offsets[mid] < start)
            i = mid + 1;
        else
            hi = mid;
    }
    while (i < hi && f->offsets[i] < start)
        i++;
    return i;
}

static void add_to_list(struct finder *f, const struct symbol *s)
{
    if (!*s->name)
        return;
    struct symbol *place = f->list.n < f->max ? VEC_PUSH(&f->list) : NULL;
    if (!place) {
        f->error = f->list.n < f->max ? -ENOMEM : -ENOSPC;
        return;
    }
    *place = *s;
    place->len = name_len(s);
}

static void add_to_slot(struct finder *f, const struct symbol *s)
{
    size_t i = place(f, s->start);
    if (i == f->n || (!s->sized && !*s->name))
        return;
    struct slot *slot = &f->slots[i];
    if (later(s, &slot->last))
        slot->last = *s;
    if (!s->sized || s->end <= f->offsets[i] || !*s->name)
        return;
    if (later(s, &slot->inner))
        slot->inner = *s;
    if (further(s, &slot->outer))
        slot->outer = *s;
}

/* Functions, and labels of hand-written assembly. Compilers' and tools' own labels begin with '.' or '$'. Names of
 * functions are not looked at: each would be a cache miss, and most symbols are nobody's. */
static bool is_code(const Elf64_Sym *s, const char *name)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);
    if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS || !s->st_name)
        return false;
    return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && *name && *name != '.' && *name != '$');
}

/* Variables. Labels without size are of no use: the linker's own (_edata, __bss_start) lie between all others. */
static bool is_data(const Elf64_Sym *s)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);
    return (type == STT_OBJECT || type == STT_COMMON || type == STT_NOTYPE) && s->st_size && s->st_name &&
           s->st_shndx != SHN_UNDEF && s->st_shndx != SHN_ABS && s->st_value + s->st_size > s->st_value;
}

static void add_data(struct finder *f, const Elf64_Sym *s, const u8 *names, size_t len)
{
    if (s->st_name >= len || !is_data(s))
        return;
    size_t max = len - s->st_name < SYMBOLS_MAX_NAME ? len - s->st_name : SYMBOLS_MAX_NAME;
    add_to_slot(
        f, &(struct symbol){
               .start = s->st_value,
               .end = s->st_value + s->st_size,
               .sized = true,
               .name = (const char *)names + s->st_name,
               .len = (u32)max,
               .rank = (u8)((ELF64_ST_TYPE(s->st_info) != STT_NOTYPE) << 1 | (ELF64_ST_BIND(s->st_info) != STB_LOCAL)),
           });
}

/* `of`: the file whose symbol it is; where it lies, the file says that is run. */
static void add_symbol(struct finder *f, const struct elf_file *of, const Elf64_Sym *s, const u8 *names, size_t len)
{
    if (s->st_name >= len || !is_code(s, (const char *)names + s->st_name))
        return;
    if (!f->seg || s->st_value - f->seg->vaddr >= f->seg->filesz) {
        const struct elf_segment *seg = elf_segment_at(f->e, s->st_value, PF_X);
        if (!seg)
            return;
        f->seg = seg;
    }
    u64 in = s->st_value - f->seg->vaddr, left = f->seg->filesz - in;
    size_t max = len - s->st_name < SYMBOLS_MAX_NAME ? len - s->st_name : SYMBOLS_MAX_NAME;
    struct symbol sym = {
        .start = f->seg->offset + in,
        .end = f->seg->offset + in + (s->st_size && s->st_size < left ? s->st_size : left),
        .sized = s->st_size,
        .name = (const char *)names + s->st_name,
        .len = (u32)max, /* at most */
        .rank = (u8)((ELF64_ST_TYPE(s->st_info) != STT_NOTYPE) << 1 | (ELF64_ST_BIND(s->st_info) != STB_LOCAL)),
    };
    struct elf_section sec;
    if (!sym.sized && elf_section_at(of, s->st_shndx, &sec) && sec.addr <= s->st_value &&
        s->st_value - sec.addr < sec.memory && sec.memory - (s->st_value - sec.addr) < left)
        sym.end = sym.start + (sec.memory - (s->st_value - sec.addr));
    if (f->lists)
        add_to_list(f, &sym);
    else
        add_to_slot(f, &sym);
}

static void add_table(struct finder *f, const struct elf_file *of, const u8 *syms, size_t nsyms, const u8 *names,
                      size_t len)
{
    for (size_t i = 0; i < nsyms && !f->error; i++) {
        Elf64_Sym s;
        memcpy(&s, syms + i * sizeof(s), sizeof(s));
        if (f->data)
            add_data(f, &s, names, len);
        else
            add_symbol(f, of, &s, names, len);
    }
}

static bool add_sections(struct finder *f, const struct elf_file *of, u32 type)
{
    bool found = false;
    struct elf_section s, names;
    for (u32 i = 0; i < of->shnum && !found; i++) {
        if (!elf_section_at(of, i, &s) || s.type != type || s.flags & SHF_COMPRESSED ||
            !elf_section_at(of, s.link, &names) || names.type != SHT_STRTAB || names.flags & SHF_COMPRESSED)
            continue;
        add_table(f, of, s.data, s.len / sizeof(Elf64_Sym), names.data, names.len);
        found = true;
    }
    return found;
}

/* Without section headers nothing says how long the table is, but linkers put the names right behind it. */
static void add_dynamic(struct finder *f)
{
    struct elf_dynamic d;
    size_t left, names_left;
    if (!elf_dynamic(f->e, &d) || !d.symtab || d.strtab <= d.symtab)
        return;
    const u8 *syms = elf_at(f->e, d.symtab, &left), *names = elf_at(f->e, d.strtab, &names_left);
    if (!syms || !names)
        return;
    size_t len = d.strtab - d.symtab < left ? d.strtab - d.symtab : left;
    add_table(f, f->e, syms, len / sizeof(Elf64_Sym), names, d.strsz < names_left ? d.strsz : names_left);
}

/* What covers offset i: a symbol of its own slot, or one that reaches over from an earlier slot. */
static void choose(const struct finder *f, struct symbol *out)
{
    struct symbol outer = {0}, inner = {0}, last = {0};
    for (size_t i = 0; i < f->n; i++) {
        const struct slot *s = &f->slots[i];
        if (s->last.name)
            last = s->last;
        if (s->inner.name)
            inner = s->inner;
        if (s->outer.name && s->outer.end > outer.end)
            outer = s->outer;
        if (inner.name && f->offsets[i] < inner.end)
            out[i] = inner;
        else if (outer.name && f->offsets[i] < outer.end)
            out[i] = outer;
        else if (last.name && !last.sized && f->offsets[i] < last.end)
            out[i] = last;
        else
            out[i] = (struct symbol){0};
        if (out[i].name)
            out[i].len = name_len(&out[i]);
    }
}

static void finder_free(struct finder *f)
{
    free(f->slots);
    free(f->first);
    vec_free(&f->list);
}

static void add_all(struct finder *f, const struct elf_file *more)
{
    add_sections(f, f->e, SHT_SYMTAB);
    if (more)
        add_sections(f, more, SHT_SYMTAB);
    if (!add_sections(f, f->e, SHT_DYNSYM))
        add_dynamic(f);
}

static int find(const struct elf_file *e, const struct elf_file *more, const u64 *offsets, size_t n, bool data,
                struct symbol *out)
{
    if (!n)
        return 0;
    CLEANUP(finder_free) struct finder f = {.e = e, .offsets = offsets, .n = n, .data = data};
    f.slots = n <= UINT32_MAX ? calloc(n, sizeof(*f.slots)) : NULL;
    if (!f.slots || make_pieces(&f))
        return -ENOMEM;
    add_all(&f, more);
    choose(&f, out);
    return 0;
}

int symbols_find(const struct elf_file *e, const struct elf_file *more, const u64 *offsets, size_t n,
                 struct symbol *out)
{
    return find(e, more, offsets, n, false, out);
}

int symbols_find_data(const struct elf_file *e, const struct elf_file *more, const u64 *addresses, size_t n,
                      struct symbol *out)
{
    return find(e, more, addresses, n, true, out);
}

/* Their names have been measured. */
static int by_preference(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->sized != y->sized)
        return x->sized ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank > y->rank ? 1 : -1;
    return x->name == y->name ? 0 : better_name(x, x->len, y, y->len) ? 1 : -1;
}

int symbols_list(const struct elf_file *e, const struct elf_file *more, size_t max, struct symbol **out, size_t *n)
{
    CLEANUP(finder_free) struct finder f = {.e = e, .lists = true, .max = max};
    add_all(&f, more);
    if (f.error)
        return f.error;
    if (f.list.n)
        qsort(f.list.v, f.list.n, sizeof(*f.list.v), by_preference);
    *n = f.list.n;
    *out = TAKE_PTR(f.list.v);
    return 0;
}
