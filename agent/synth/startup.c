/* Rows for the code that compilers link into every program and library without unwind information: crtbegin.o, whose
 * functions the dynamic linker calls at the start and at the end (gcc's crtstuff.c). The idea is in synth.h. */
#include "synth/startup.h"
#include "base/cleanup.h"
#include "elf/dynamic.h"
#include "synth/analysis.h"
#include "synth/guard.h"

#define MAX_FINI  8    /* functions of an array that are looked at; crtbegin.o's comes first */
#define MAX_INIT  4096 /* here it may follow those with priorities */
#define MAX_ROOTS (2 * MAX_FINI)
#define REACH     256        /* bytes around such a function; crtbegin.o has 150 */
#define MAX_RELA  (1u << 20) /* relocations that are searched */

struct roots { /* addresses of functions */
    size_t n;
    u64 v[MAX_ROOTS];
};

struct array {
    u64 vaddr, size; /* 0: there is none */
};

/* Programs without a dynamic section have sections only. */
static struct array find_array(const struct elf_file *e, u64 vaddr, u64 size, const char *section)
{
    struct elf_section s;
    if (!vaddr && elf_section(e, section, &s))
        return (struct array){s.addr, s.len};
    return (struct array){vaddr, size};
}

/* Some linkers leave the value to the relocation alone. */
static u64 relocated(const struct elf_file *e, const struct elf_dynamic *d, u64 vaddr)
{
    size_t left;
    Elf64_Rela r;
    const u8 *p = d->rela ? elf_at(e, d->rela, &left) : NULL;
    size_t n = p ? (left < d->rela_size ? left : d->rela_size) / sizeof(r) : 0;
    for (size_t i = 0; i < n && i < MAX_RELA; i++) {
        memcpy(&r, p + i * sizeof(r), sizeof(r));
        if (r.r_offset == vaddr && ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE)
            return (u64)r.r_addend;
    }
    return 0;
}

static bool is_near(const struct roots *r, size_t n, u64 pc)
{
    for (size_t i = 0; i < n; i++)
        if (pc - r->v[i] + REACH < 2 * REACH)
            return true;
    return false;
}

static void add_root(struct roots *r, u64 pc)
{
    if (pc && r->n < MAX_ROOTS)
        r->v[r->n++] = pc;
}

/* What runs at the end, and what runs at the start and lies beside that. */
static void find_roots(const struct elf_file *e, struct roots *out)
{
    struct elf_dynamic d;
    size_t left;
    u64 pc;
    elf_dynamic(e, &d);
    struct array fini = find_array(e, d.fini_array, d.fini_array_size, ".fini_array");
    struct array init = find_array(e, d.init_array, d.init_array_size, ".init_array");
    const u8 *p = fini.vaddr ? elf_at(e, fini.vaddr, &left) : NULL;
    left = p ? (left < fini.size ? left : fini.size) / 8 : 0;
    for (size_t i = 0; i < left && i < MAX_FINI; i++) {
        memcpy(&pc, p + 8 * i, 8);
        add_root(out, pc ? pc : relocated(e, &d, fini.vaddr + 8 * i));
    }
    size_t n = out->n;
    p = n && init.vaddr ? elf_at(e, init.vaddr, &left) : NULL;
    left = p ? (left < init.size ? left : init.size) / 8 : 0;
    for (size_t i = 0; i < left && i < MAX_INIT; i++) {
        memcpy(&pc, p + 8 * i, 8);
        if (is_near(out, n, pc))
            add_root(out, pc);
    }
}

/* All code but what is near a root: nothing is to be found there. */
static size_t cover_rest(const struct elf_file *e, const struct roots *r, struct synth_span out[MAX_ROOTS + 1])
{
    u64 starts[MAX_ROOTS];
    size_t n = 0, spans = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct elf_segment *s = elf_segment_at(e, r->v[i], PF_X);
        u64 at = s ? s->offset + (r->v[i] - s->vaddr) : 0, from = at > REACH ? at - REACH : 0;
        size_t k = n;
        for (; from && k && starts[k - 1] > from; k--)
            starts[k] = starts[k - 1];
        if (!from)
            continue;
        starts[k] = from;
        n++;
    }
    u64 done = 0;
    for (size_t i = 0; i < n; i++) {
        if (starts[i] > done)
            out[spans++] = (struct synth_span){done, starts[i]};
        done = starts[i] + 2 * REACH;
    }
    if (n && done < e->size)
        out[spans++] = (struct synth_span){done, e->size};
    return spans;
}

int synth_read_startup(const struct elf_file *e, struct synth *out)
{
    static const struct synth_limits limits = {
        .max_code = 2 * REACH * MAX_ROOTS, .max_insns = 16384, .max_cpu_ms = 20, .max_visits = 64};
    struct synth_span rest[MAX_ROOTS + 1];
    struct roots roots = {0};
    if (guard_foreign(e) == SYNTH_DROP_NOT)
        find_roots(e, &roots);
    size_t n = roots.n ? cover_rest(e, &roots, rest) : 0;
    return n ? synth_read_roots(e, rest, n, roots.v, roots.n, &limits, out) : 0;
}
