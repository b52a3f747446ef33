#include "elf/allocators.h"
#include "elf/cheap_place.h"
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 128

/* ---- Names ------------------------------------------------------------------------------------------------------- */

enum { PLAIN = 1, JE = 2, TC = 4, MI = 8, WRAPS = 16 }; /* with which prefixes; and whether it mostly calls malloc */
#define LIBC (PLAIN | JE | TC | MI)

struct name {
    const char *text;
    u64 call;
    unsigned flags;
};

/* Arguments: size, factor, block that goes, place of the result. */
static const struct name NAMES[] = {
    {"malloc", XP_HEAP_CALL(1, 0, 0, 0), LIBC},
    {"calloc", XP_HEAP_CALL(1, 2, 0, 0), LIBC},
    {"realloc", XP_HEAP_CALL(2, 0, 1, 0), LIBC},
    {"reallocarray", XP_HEAP_CALL(2, 3, 1, 0), LIBC},
    {"free", XP_HEAP_CALL(0, 0, 1, 0), LIBC},
    {"cfree", XP_HEAP_CALL(0, 0, 1, 0), LIBC},
    {"posix_memalign", XP_HEAP_CALL(3, 0, 0, 1), LIBC},
    {"aligned_alloc", XP_HEAP_CALL(2, 0, 0, 0), PLAIN | JE},
    {"memalign", XP_HEAP_CALL(2, 0, 0, 0), LIBC},
    {"valloc", XP_HEAP_CALL(1, 0, 0, 0), LIBC},
    {"pvalloc", XP_HEAP_CALL(1, 0, 0, 0), LIBC},
    /* jemalloc(3) */
    {"mallocx", XP_HEAP_CALL(1, 0, 0, 0), PLAIN | JE},
    {"rallocx", XP_HEAP_CALL(2, 0, 1, 0), PLAIN | JE},
    {"dallocx", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | JE},
    {"sdallocx", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | JE | TC},
    {"free_sized", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | JE | TC},
    {"free_aligned_sized", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | JE | TC},
    /* gperftools/tcmalloc.h */
    {"new", XP_HEAP_CALL(1, 0, 0, 0), TC | MI},
    {"new_nothrow", XP_HEAP_CALL(1, 0, 0, 0), TC | MI},
    {"newarray", XP_HEAP_CALL(1, 0, 0, 0), TC},
    {"newarray_nothrow", XP_HEAP_CALL(1, 0, 0, 0), TC},
    {"new_aligned", XP_HEAP_CALL(1, 0, 0, 0), TC | MI},
    {"new_aligned_nothrow", XP_HEAP_CALL(1, 0, 0, 0), TC | MI},
    {"newarray_aligned", XP_HEAP_CALL(1, 0, 0, 0), TC},
    {"delete", XP_HEAP_CALL(0, 0, 1, 0), TC},
    {"delete_sized", XP_HEAP_CALL(0, 0, 1, 0), TC},
    {"delete_nothrow", XP_HEAP_CALL(0, 0, 1, 0), TC},
    {"delete_aligned", XP_HEAP_CALL(0, 0, 1, 0), TC},
    {"deletearray", XP_HEAP_CALL(0, 0, 1, 0), TC},
    {"deletearray_sized", XP_HEAP_CALL(0, 0, 1, 0), TC},
    {"deletearray_nothrow", XP_HEAP_CALL(0, 0, 1, 0), TC},
    {"deletearray_aligned", XP_HEAP_CALL(0, 0, 1, 0), TC},
    /* mimalloc.h */
    {"zalloc", XP_HEAP_CALL(1, 0, 0, 0), MI},
    {"malloc_small", XP_HEAP_CALL(1, 0, 0, 0), MI},
    {"zalloc_small", XP_HEAP_CALL(1, 0, 0, 0), MI},
    {"mallocn", XP_HEAP_CALL(1, 2, 0, 0), MI},
    {"reallocn", XP_HEAP_CALL(2, 3, 1, 0), MI},
    {"reallocf", XP_HEAP_CALL(2, 0, 1, 0), MI},
    {"rezalloc", XP_HEAP_CALL(2, 0, 1, 0), MI},
    {"recalloc", XP_HEAP_CALL(2, 3, 1, 0), MI},
    {"malloc_aligned", XP_HEAP_CALL(1, 0, 0, 0), MI},
    {"zalloc_aligned", XP_HEAP_CALL(1, 0, 0, 0), MI},
    {"calloc_aligned", XP_HEAP_CALL(1, 2, 0, 0), MI},
    {"realloc_aligned", XP_HEAP_CALL(2, 0, 1, 0), MI},
    {"new_n", XP_HEAP_CALL(1, 2, 0, 0), MI},
    {"new_realloc", XP_HEAP_CALL(2, 0, 1, 0), MI},
    {"heap_malloc", XP_HEAP_CALL(2, 0, 0, 0), MI},
    {"heap_zalloc", XP_HEAP_CALL(2, 0, 0, 0), MI},
    {"heap_calloc", XP_HEAP_CALL(2, 3, 0, 0), MI},
    {"heap_realloc", XP_HEAP_CALL(3, 0, 2, 0), MI},
    {"heap_malloc_aligned", XP_HEAP_CALL(2, 0, 0, 0), MI},
    {"free_size", XP_HEAP_CALL(0, 0, 1, 0), MI},
    {"free_aligned", XP_HEAP_CALL(0, 0, 1, 0), MI},
    {"free_size_aligned", XP_HEAP_CALL(0, 0, 1, 0), MI},
    /* operator new and delete (Itanium C++ ABI, 5.1.5), without the placement forms, which allocate nothing */
    {"_Znwm", XP_HEAP_CALL(1, 0, 0, 0), PLAIN | WRAPS},
    {"_Znam", XP_HEAP_CALL(1, 0, 0, 0), PLAIN | WRAPS},
    {"_ZnwmRKSt9nothrow_t", XP_HEAP_CALL(1, 0, 0, 0), PLAIN | WRAPS},
    {"_ZnamRKSt9nothrow_t", XP_HEAP_CALL(1, 0, 0, 0), PLAIN | WRAPS},
    {"_ZnwmSt11align_val_t", XP_HEAP_CALL(1, 0, 0, 0), PLAIN | WRAPS},
    {"_ZnamSt11align_val_t", XP_HEAP_CALL(1, 0, 0, 0), PLAIN | WRAPS},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", XP_HEAP_CALL(1, 0, 0, 0), PLAIN | WRAPS},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", XP_HEAP_CALL(1, 0, 0, 0), PLAIN | WRAPS},
    {"_ZdlPv", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | WRAPS},
    {"_ZdaPv", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | WRAPS},
    {"_ZdlPvm", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | WRAPS},
    {"_ZdaPvm", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | WRAPS},
    {"_ZdlPvRKSt9nothrow_t", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | WRAPS},
    {"_ZdaPvRKSt9nothrow_t", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | WRAPS},
    {"_ZdlPvSt11align_val_t", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | WRAPS},
    {"_ZdaPvSt11align_val_t", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | WRAPS},
    {"_ZdlPvmSt11align_val_t", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | WRAPS},
    {"_ZdaPvmSt11align_val_t", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | WRAPS},
    /* Rust (library/alloc/src/alloc.rs) */
    {"__rust_alloc", XP_HEAP_CALL(1, 0, 0, 0), PLAIN | WRAPS},
    {"__rust_alloc_zeroed", XP_HEAP_CALL(1, 0, 0, 0), PLAIN | WRAPS},
    {"__rust_dealloc", XP_HEAP_CALL(0, 0, 1, 0), PLAIN | WRAPS},
    {"__rust_realloc", XP_HEAP_CALL(4, 0, 1, 0), PLAIN | WRAPS},
};

static const struct {
    const char *text;
    unsigned flag;
} PREFIXES[] = {{"", PLAIN}, {"je_", JE}, {"_rjem_", JE}, {"tc_", TC}, {"mi_", MI}};

/* Names of Rust since 1.87 begin with those of the crate: _RNvCs..._7___rustc12___rust_alloc. */
static const char *without_crate(const char *name, size_t *len)
{
    const char *at = *len > 2 && name[0] == '_' && name[1] == 'R' ? memmem(name, *len, "7___rustc", 9) : NULL;
    const char *from = at ? memmem(at, *len - (size_t)(at - name), "__rust_", 7) : NULL;
    *len -= from ? (size_t)(from - name) : 0;
    return from ? from : name;
}

/* Most symbols are none of these, and a file may have millions. */
static bool may_be_one(const char *name, size_t len)
{
    return len >= 4 && (memmem(name, len, "alloc", 5) || memmem(name, len, "free", 4) ||
                        memmem(name, len, "align", 5) || memmem(name, len, "new", 3) ||
                        memmem(name, len, "delete", 6) || !memcmp(name, "_Zn", 3) || !memcmp(name, "_Zd", 3));
}

u64 allocator_call(const char *name, size_t len, bool *wraps)
{
    if (!may_be_one(name, len))
        return 0;
    name = without_crate(name, &len);
    for (size_t p = 0; p < sizeof(PREFIXES) / sizeof(*PREFIXES); p++) {
        size_t skip = strlen(PREFIXES[p].text);
        if (len <= skip || memcmp(name, PREFIXES[p].text, skip) != 0)
            continue;
        for (size_t i = 0; i < sizeof(NAMES) / sizeof(*NAMES); i++) {
            const struct name *n = &NAMES[i];
            if (!(n->flags & PREFIXES[p].flag) || strlen(n->text) != len - skip ||
                memcmp(n->text, name + skip, len - skip) != 0)
                continue;
            *wraps = n->flags & WRAPS;
            return n->call;
        }
    }
    return 0;
}

/* ---- Symbols ----------------------------------------------------------------------------------------------------- */

struct reading {
    const struct elf_file *e;
    struct allocators *out;
    bool imports;  /* it takes malloc from another file */
    bool wrapping; /* whether it is the turn of those that mostly call others */
    size_t nstarts;
    u64 starts[ALLOCATORS_MAX]; /* addresses of functions that allocate or free, and of those that only call them */
};

typedef void use_symbol(struct reading *r, const Elf64_Sym *sym, const char *name, size_t len);

static void for_each(struct reading *r, const char *section, use_symbol *use)
{
    struct elf_section table, names;
    if (!elf_section(r->e, section, &table) || table.type == SHT_NOBITS || !elf_section_at(r->e, table.link, &names) ||
        names.type == SHT_NOBITS)
        return;
    for (size_t i = 0; i < table.len / sizeof(Elf64_Sym); i++) {
        Elf64_Sym sym;
        memcpy(&sym, table.data + i * sizeof(sym), sizeof(sym));
        if (sym.st_name >= names.len)
            continue;
        size_t left = names.len - sym.st_name;
        const char *name = (const char *)names.data + sym.st_name;
        size_t len = strnlen(name, left < MAX_NAME ? left : MAX_NAME);
        if (len && len < MAX_NAME && len < left)
            use(r, &sym, name, len);
    }
}

static void for_both(struct reading *r, use_symbol *use)
{
    for_each(r, ".dynsym", use);
    for_each(r, ".symtab", use);
}

static void note_import(struct reading *r, const Elf64_Sym *sym, const char *name, size_t len)
{
    r->imports |= sym->st_shndx == SHN_UNDEF && len == 6 && !memcmp(name, "malloc", 6);
}

static void add_site(struct allocators *out, u64 offset, u64 call)
{
    u32 at = 0;
    while (at < out->n && out->site[at].offset < offset)
        at++;
    if (at < out->n && out->site[at].offset == offset)
        return;
    if (out->n == ALLOCATORS_MAX) {
        out->left_out++;
        return;
    }
    memmove(out->site + at + 1, out->site + at, (out->n - at) * sizeof(*out->site));
    out->site[at] = (struct xp_heap_site){offset, call};
    out->n++;
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

#define LOOKED_THROUGH 512 /* bytes of a function */
#define ROUNDS         3   /* new[](n, nothrow) calls new[], which calls new, which calls malloc */

static bool is_start(const struct reading *r, u64 vaddr)
{
    for (size_t i = 0; i < r->nstarts; i++)
        if (r->starts[i] == vaddr)
            return true;
    return false;
}

static void add_start(struct reading *r, u64 vaddr)
{
    if (r->nstarts < ALLOCATORS_MAX && !is_start(r, vaddr))
        r->starts[r->nstarts++] = vaddr;
}

/* Whether the code of a function has a call of, or a jump to, one of `starts` (opcodes e8 and e9, and a distance). */
static bool calls_others(const struct reading *r, const Elf64_Sym *sym)
{
    size_t left = 0;
    const u8 *code = elf_at(r->e, sym->st_value, &left);
    u64 len = sym->st_size < LOOKED_THROUGH ? sym->st_size : LOOKED_THROUGH;
    for (size_t at = 0; code && at + 5 <= len && at + 5 <= left; at++) {
        s32 distance;
        memcpy(&distance, code + at + 1, sizeof(distance));
        if ((code[at] == 0xe8 || code[at] == 0xe9) && is_start(r, sym->st_value + at + 5 + (u64)(s64)distance))
            return true;
    }
    return false;
}

/* Adds it unless it only calls another one, which is seen anyway. That is more than thrift: a function through which an
 * exception leaves must not be probed at its return, because the exception would not find its way (C++ ABI, 1.6). A
 * local function may be called free and be anything. */
static void add(struct reading *r, const Elf64_Sym *sym, const char *name, size_t len)
{
    bool wraps = false;
    unsigned type = ELF64_ST_TYPE(sym->st_info), binding = ELF64_ST_BIND(sym->st_info);
    if (sym->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_NOTYPE) || !sym->st_value)
        return;
    u64 call = allocator_call(name, len, &wraps);
    if (!call || wraps != r->wrapping || (wraps && (r->imports || is_start(r, sym->st_value))) ||
        (binding == STB_LOCAL && !memmem(name, len, "_", 1)))
        return;
    const struct elf_segment *s = elf_segment_at(r->e, sym->st_value, PF_X);
    if (!s)
        return;
    add_start(r, sym->st_value);
    add_site(r->out, sym->st_value - s->vaddr + s->offset + elf_cheap_place(r->e, sym->st_value), call);
}

/* Of those that mostly call others, these do. */
static void leave_out(struct reading *r, const Elf64_Sym *sym, const char *name, size_t len)
{
    bool wraps = false;
    if (sym->st_shndx != SHN_UNDEF && allocator_call(name, len, &wraps) && wraps && calls_others(r, sym))
        add_start(r, sym->st_value);
}

static bool is_go(const struct elf_file *e)
{
    static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab", ".note.go.buildid", ".go.buildinfo"};
    struct elf_section s;
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
        if (elf_section(e, sections[i], &s))
            return true;
    return false;
}

int allocators_read(int fd, struct allocators *out)
{
    AUTO_ELF struct elf_file e = {0};
    int err = elf_open(&e, fd);
    if (err)
        return err;
    memset(out, 0, sizeof(*out));
    out->magic = ALLOCATORS_MAGIC;
    struct reading r = {.e = &e, .out = out};
    if (is_go(&e))
        return 0;
    for_each(&r, ".dynsym", note_import);
    for_both(&r, add);
    for (int round = 0; round < ROUNDS; round++)
        for_both(&r, leave_out);
    r.wrapping = true;
    for_both(&r, add);
    return 0;
}

bool allocators_sound(const void *data, size_t len)
{
    struct allocators a;
    if (len != sizeof(a))
        return false;
    memcpy(&a, data, sizeof(a));
    if (a.magic != ALLOCATORS_MAGIC || a.n > ALLOCATORS_MAX)
        return false;
    for (u32 i = 0; i < a.n; i++) {
        u64 call = a.site[i].call;
        bool known = XP_HEAP_SIZE(call) <= 4 && XP_HEAP_TIMES(call) <= 4 && XP_HEAP_OLD(call) <= 4 &&
                     XP_HEAP_OUT(call) <= 4 && call >> 16 == 0 && (XP_HEAP_SIZE(call) || XP_HEAP_OLD(call));
        if (!known || (i && a.site[i].offset <= a.site[i - 1].offset))
            return false;
    }
    return true;
}
