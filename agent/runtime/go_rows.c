/* From the depth of the stack at every instruction to rows. */
#include "runtime/go_rows.h"
#include "cfi/rows.h"
#include "runtime/go_rows_internal.h"
#include <errno.h>

#define SPARE_STEPS   (1u << 20) /* to those that a table without sharing takes; real ones share little */
#define MAX_SHARING   8
#define MAX_STEPS     (1ull << 27) /* seconds; the largest program seen takes 1.3 million */
#define MAX_ROWS      (8u << 20)   /* and these a million */
#define MAX_DEPTH     0x7ffffff0u
#define ENOUGH_PUSHES 64

/* A function from whose code facts are read, and a row of it that needs them all. */
struct fact_source {
    struct go_func f;
    struct go_code c; /* c.f NULL: not found; else &f */
    u64 rsp_load;
    size_t row; /* number + 1; 0: it needs none */
};

struct writer {
    const struct gopclntab *t;
    struct go_rows *out;
    struct go_bytes code; /* the file's, from `base` on */
    u64 base;             /* address */
    s64 shift;            /* file offset - address */
    u64 steps;
    bool failed;     /* no memory */
    unsigned pushes; /* of the compiler's functions that were looked at, all of which push rbp */
    bool mixed;      /* not all of them */
    struct fact_source morestack, systemstack;
};

/* From address `at` on: of two rules for one place the later holds; going back is not possible. */
static void put(struct writer *w, u64 at, struct xp_rule rule)
{
    struct table_row row = {at + (u64)w->shift, rule_word(rule)};
    struct table_row *last = w->out->rows.n ? &w->out->rows.v[w->out->rows.n - 1] : NULL;
    if (last && last->offset == row.offset)
        last->word = row.word;
    else if (w->out->rows.n >= MAX_ROWS && w->steps) /* no more; but how it ends may be said */
        w->steps = 0;
    else if (!last || (last->offset < row.offset && last->word != row.word)) {
        struct table_row *r = VEC_PUSH(&w->out->rows);
        if (r)
            *r = row;
        else
            w->failed = true;
    }
}

static struct xp_rule only(unsigned kind)
{
    return (struct xp_rule){.kind = (u8)kind};
}

/* The CFA counts from rsp; rbp is still, or again, the caller's. */
static struct xp_rule bare_rule(const struct go_code *c, u32 depth)
{
    bool exact = c->role == GO_INJECTED || c->role == GO_HANDLER;
    return (struct xp_rule){.kind = exact ? XP_CFA_RSP_EXACT : XP_CFA_RSP, .cfa_off = (s32)depth + 8};
}

static struct xp_rule framed_rule(const struct go_code *c, u32 depth)
{
    struct xp_rule r = bare_rule(c, depth);
    r.kind = XP_RULE_KIND(r.kind, XP_RBP_CFA);
    r.rbp_off = c->rbp;
    r.rbx = c->rbx;
    return r;
}

/* A function that writes rsp but keeps its frame in rbp: wherever rsp may be. */
static struct xp_rule chained_rule(const struct go_code *c, u32 depth, bool aligned)
{
    struct xp_rule r = framed_rule(c, depth);
    r.kind = XP_RULE_KIND(XP_CFA_RBP_HOP, XP_RBP_CFA);
    if (!aligned)
        r.cfa_off = 16;
    return r;
}

static void put_chained(struct writer *w, const struct go_code *c, u64 from, u64 to, u32 depth)
{
    u64 at = c->chained > from ? c->chained : from;
    if (at < to && !c->aligned)
        put(w, at, chained_rule(c, depth, false));
    at = c->aligned > at ? c->aligned : at;
    if (at < to && c->aligned && depth > 8)
        put(w, at, chained_rule(c, depth, true));
}

/* How a function begins. All that one compiler made begin alike: where the first ones push rbp (since 1.21), the others
 * are not looked at, which saves reading all of a program's code. */
static void begin(struct writer *w, struct go_code *c, u64 at, u32 depth)
{
    bool compiled = !(c->f->flags & (GO_ASSEMBLY | GO_SETS_RSP));
    if (compiled && depth == 8 && !w->mixed && w->pushes >= ENOUGH_PUSHES) {
        go_code_pushed(c, at);
        return;
    }
    go_code_begin(c, at, depth);
    if (compiled && c->chained == at + 3)
        w->pushes++;
    else if (compiled)
        w->mixed = true;
}

/* In [from, to) the return address is at rsp + depth. */
static void put_run(struct writer *w, struct go_code *c, u64 from, u64 to, u32 depth)
{
    if (!depth) {
        put(w, from, bare_rule(c, 0));
        return;
    }
    if (!c->begun)
        begin(w, c, from, depth);
    if ((c->f->flags & GO_ASSEMBLY) && !c->rbx)
        go_code_saves(c, from, to, depth);
    put(w, from, from < c->saved ? bare_rule(c, depth) : framed_rule(c, depth));
    if (from < c->saved && c->saved < to)
        put(w, c->saved, framed_rule(c, depth));
    if (c->chained && (c->f->flags & GO_SETS_RSP))
        put_chained(w, c, from, to, depth);
}

/* The function's runs. False: it is malformed. */
static bool put_runs(struct writer *w, struct go_code *c)
{
    struct go_runs r = go_runs_of(w->t, c->f->depth, c->f->entry);
    if (!c->f->depth) { /* the linker has none: C code that it took in */
        put(w, c->f->entry, only(XP_CFA_NONE));
        return true;
    }
    while (go_runs_next(&r) && r.from < c->f->end && w->steps) {
        w->steps--;
        if (r.value == (u32)-8 && go_code_pops_return(c, r.from))
            put(w, r.from, (struct xp_rule){.kind = XP_CFA_RA_REG, .rbp_off = GO_DW_R12});
        else if (r.value > MAX_DEPTH)
            return false;
        else
            put_run(w, c, r.from, r.to < c->f->end ? r.to : c->f->end, r.value);
    }
    return r.to > c->f->entry;
}

/* The first function of either name; NULL: it is neither. */
static struct fact_source *fact_source_of(struct writer *w, const struct go_code *c)
{
    struct fact_source *s = c->role == GO_MORESTACK     ? &w->morestack
                            : c->role == GO_SYSTEMSTACK ? &w->systemstack
                                                        : NULL;
    if (!s || (s->c.f && s->f.entry != c->f->entry))
        return NULL;
    s->f = *c->f;
    s->c = *c;
    s->c.f = &s->f;
    return s;
}

/* Behind the place where it leaves its caller's stack, another rule holds. */
static void put_switch(struct writer *w, const struct go_code *c, size_t first_row)
{
    fact_source_of(w, c);
    bool keeps_rbp = c->begun && (c->role == GO_SYSTEMSTACK || c->role == GO_ASMCGOCALL);
    u64 at = keeps_rbp ? 0 : go_code_rsp_load(c, c->f->entry);
    if (!at)
        return;
    while (w->out->rows.n > first_row && w->out->rows.v[w->out->rows.n - 1].offset >= at + (u64)w->shift)
        w->out->rows.n--;
    put(w, at, go_code_switch(c, at, &w->out->facts));
    struct fact_source *s = fact_source_of(w, c);
    if (s && w->out->rows.n && w->out->rows.v[w->out->rows.n - 1].offset == at + (u64)w->shift) {
        s->rsp_load = at;
        s->row = w->out->rows.n;
    }
    u64 back = c->role == GO_SYSTEMSTACK ? go_code_rsp_load(c, at) : 0;
    if (back)
        put(w, back, bare_rule(c, 0));
}

static struct go_code code_of(const struct writer *w, const struct go_func *f)
{
    struct go_bytes b = go_slice(w->code, f->entry - w->base, f->end - f->entry);
    return go_code_of(w->t, f, b.data, b.len);
}

static void put_function(struct writer *w, const struct go_func *f)
{
    struct go_code c = code_of(w, f);
    size_t first_row = w->out->rows.n;
    w->out->functions++;
    if (c.role == GO_ROOT) {
        put(w, f->entry, only(XP_CFA_END));
    } else if (c.role == GO_RESTORER) { /* handlers return to its first byte: looked up at the one before */
        put(w, f->entry > w->base ? f->entry - 1 : f->entry, only(XP_CFA_SIGNAL));
    } else if (!put_runs(w, &c)) {
        w->out->rows.n = first_row;
        put(w, f->entry, only(XP_CFA_UNSUPPORTED));
        w->out->code.bad++;
    } else if (c.role >= GO_MORESTACK) {
        put_switch(w, &c, first_row);
    }
}

/* Function i if it is behind all before; what of it is within the code. */
static bool read_function(const struct writer *w, u64 i, u64 done, struct go_func *f)
{
    u64 end = w->base + w->code.len;
    if (!go_func_read(w->t, i, f) || f->entry < done || f->entry >= f->end || f->entry >= end)
        return false;
    f->end = f->end < end ? f->end : end;
    return true;
}

/* Facts, and the rows that waited for them. */
static void put_facts(struct writer *w)
{
    struct go_rows *out = w->out;
    out->facts = go_facts_read(&w->morestack.c, &w->systemstack.c, w->shift);
    const struct fact_source *all[] = {&w->morestack, &w->systemstack};
    for (unsigned i = 0; i < 2; i++)
        if (all[i]->row)
            out->rows.v[all[i]->row - 1].word = rule_word(go_code_switch(&all[i]->c, all[i]->rsp_load, &out->facts));
}

/* From the first function to the end of Go's code, as far as the segment reaches. */
static bool find_code(struct writer *w)
{
    u64 start = go_entry(w->t, 0), end = w->t->etext ? w->t->etext : go_entry(w->t, w->t->nfuncs);
    const struct elf_segment *s = elf_segment_at(w->t->elf, start, PF_X);
    if (!s || end <= start)
        return false;
    u64 left = s->filesz - (start - s->vaddr);
    w->base = start;
    w->shift = (s64)(s->offset - s->vaddr);
    w->code = (struct go_bytes){w->t->elf->map + start + w->shift, end - start < left ? end - start : left};
    return start + (u64)w->shift + w->code.len <= 1ull << XP_OFFSET_BITS;
}

static void put_functions(struct writer *w)
{
    struct go_func f;
    u64 done = w->base;
    for (u64 i = 0; i < w->t->nfuncs && !w->failed && w->steps; i++) {
        if (!read_function(w, i, done, &f)) {
            w->out->code.bad++;
            continue;
        }
        put_function(w, &f);
        done = f.end;
    }
    if (!w->steps && done < w->base + w->code.len) {
        put(w, done, only(XP_CFA_UNSUPPORTED));
        w->out->code.bad++;
    }
}

int go_rows_read(const struct gopclntab *t, struct go_rows *out)
{
    AUTO_GO_ROWS struct go_rows rows = {0};
    u64 steps = MAX_SHARING * (u64)t->values.len + SPARE_STEPS;
    struct writer w = {.t = t, .out = &rows, .steps = steps < MAX_STEPS ? steps : MAX_STEPS};
    if (t->layout < GO_1_18)
        return -ENOTSUP;
    if (!find_code(&w))
        return -ENODATA;
    put_functions(&w);
    put_facts(&w);
    if (w.failed)
        return -ENOMEM;
    if (!rows.rows.n)
        return -ENODATA;
    rows.code.start = rows.rows.v[0].offset;
    rows.code.end = w.base + (u64)w.shift + w.code.len;
    rows.code.rows = rows.rows.v;
    rows.code.n = rows.rows.n;
    rows.code.source = XP_SOURCE_GO;
    *out = rows;
    rows = (struct go_rows){0}; /* handed over */
    return 0;
}

void go_rows_free(struct go_rows *r)
{
    vec_free(&r->rows);
    *r = (struct go_rows){0};
}
