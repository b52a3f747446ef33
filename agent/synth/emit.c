/* Rows: of each region when it is done, and of the file when all are. */
#include "base/cleanup.h"
#include "synth/analysis.h"
#include <errno.h>

/* ---- Of a region ---- */

struct writer {
    struct analysis *a;
    struct rules rules; /* all that have been right since `from` */
    u32 from, to;       /* from == to: no row is open */
    u32 exit;           /* end of the exit system call that was met last */
};

static void close_row(struct writer *w)
{
    struct analysis *a = w->a;
    if (w->from == w->to)
        return;
    struct region_row *r = a->rows.n < MAX_NOTES ? VEC_PUSH(&a->rows) : NULL;
    if (!r) {
        analysis_drop(a, SYNTH_DROP_MEMORY);
        return;
    }
    *r = (struct region_row){.at = w->from,
                             .end = w->to,
                             .region = a->current,
                             .exits = w->exit == w->to,
                             .rule = rules_pick(&w->rules, &region_current(a)->frame)};
    w->from = w->to;
}

/* At the instruction [at, end) these rules are right; NULL: those of the one before. */
static void write_rules(struct writer *w, u32 at, u32 end, const struct rules *now)
{
    bool follows = w->from != w->to && w->to == at;
    if (!follows || (now && !rules_narrow(&w->rules, now))) {
        close_row(w);
        w->rules = *now;
        w->from = at;
    }
    w->to = end;
}

/* What dropped its return address and leads straight to the exit system call is where a stack begins: what runs in a
 * thread that clone() made. */
static void find_rules(const struct analysis *a, const struct state *s, u32 at, struct rules *out)
{
    const struct frame *f = &a->regions.v[a->current].frame;
    rules_at(s, f, out);
    if (rules_no_way_back(s, f) && noreturn_leads_to_exit(code_gap_of(&a->code, at), at))
        rules_only(XP_CFA_END, out);
}

static void emit_block(struct writer *w, const struct block *b)
{
    struct analysis *a = w->a;
    w->exit = b->exits ? b->at + b->len : w->exit;
    const struct code_gap *g = code_gap_of(&a->code, b->at);
    struct state s = *region_state(a, b);
    struct step next = {.changed = true};
    struct rules now;
    struct insn x;
    size_t left;
    if (b->plain && b->len && !a->limits->witness) {
        find_rules(a, &s, b->at, &now);
        write_rules(w, b->at, b->at + b->len, &now);
        return;
    }
    for (u32 at = b->at, end = b->at + b->len; at < end && !analysis_over(a); at += x.len) {
        const u8 *p = code_bytes(g, at, &left);
        if (!insn_decode(p, left, &x))
            return;
        analysis_count(a);
        if (next.changed)
            find_rules(a, &s, at, &now);
        if (a->limits->witness)
            a->limits->witness(a->limits->ctx, g->offset + (at - g->base), x.len, &now);
        write_rules(w, at, at + x.len < end ? at + x.len : end, next.changed ? &now : NULL);
        u64 pc = code_pc(g, at) + x.len;
        step(&s, &x, pc, at, region_kept(a, &x, pc), NULL, &next);
    }
}

static int by_place(const void *a, const void *b)
{
    u32 x = (*(struct block *const *)a)->at, y = (*(struct block *const *)b)->at;
    return x < y ? -1 : x > y;
}

void emit_region(struct analysis *a)
{
    struct region *r = region_current(a);
    struct writer w = {.a = a};
    AUTO_FREE struct block **order = calloc(r->nblocks + 1, sizeof(*order));
    if (!order) {
        a->err = -ENOMEM;
        return;
    }
    for (u32 i = 0; i < r->nblocks; i++)
        order[i] = &a->blocks.v[r->first_block + i];
    qsort(order, r->nblocks, sizeof(*order), by_place);
    r->first_row = (u32)a->rows.n;
    for (u32 i = 0; i < r->nblocks && !analysis_over(a); i++)
        emit_block(&w, order[i]);
    close_row(&w);
    r->nrows = (u32)a->rows.n - r->first_row;
}

bool emit_rule_at(const struct analysis *a, const struct region *r, u32 at, struct xp_rule *out)
{
    size_t lo = r->first_row, hi = lo + r->nrows;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (a->rows.v[mid].at <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == r->first_row || at >= a->rows.v[lo - 1].end)
        return false;
    *out = a->rows.v[lo - 1].rule;
    return true;
}

/* ---- Of the file ---- */

static int by_at(const void *a, const void *b)
{
    const struct region_row *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Only what is proven stays. */
static void keep_proven(struct analysis *a)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->rows.n; i++)
        if (proof_holds(&a->regions.v[a->rows.v[i].region]))
            a->rows.v[kept++] = a->rows.v[i];
    a->rows.n = kept;
    if (kept)
        qsort(a->rows.v, kept, sizeof(*a->rows.v), by_at);
}

struct output {
    struct analysis *a;
    struct synth *out;
    const struct code_gap *gap;
    u32 done; /* up to here there are rows */
};

static void put(struct output *o, u32 at, struct xp_rule rule)
{
    struct synth *s = o->out;
    if (at != o->gap->base && !memcmp(&s->rows.v[s->rows.n - 1].rule, &rule, sizeof(rule)))
        return;
    struct synth_row *r = VEC_PUSH(&s->rows);
    if (!r)
        o->a->err = -ENOMEM;
    else
        *r = (struct synth_row){o->gap->offset + (at - o->gap->base), rule};
}

/* Nothing is known of [o->done, to). Padding is never run, and needs no row. */
static void put_hole(struct output *o, u32 to)
{
    size_t left, n, code = 0;
    const u8 *p = code_bytes(o->gap, o->done, &left);
    left = to - o->done;
    while (left) {
        n = code_padding(p, left);
        code += n ? 0 : 1;
        n = n ? n : 1;
        p += n;
        left -= n;
    }
    o->a->n->code_bytes += code;
    if (code || o->done == o->gap->base) /* each range begins with a row */
        put(o, o->done, rules_unproven());
}

static bool is_led_to(struct analysis *a, u32 at)
{
    const struct block *b = region_block_at(a, at);
    return a->code.marks[at] & CODE_ENTRY || (b && !a->regions.v[b->region].frame.orphan);
}

/* The byte behind the exit system call has the same rule, unless something else leads there. */
static u32 end_of_row(const struct output *o, const struct region_row *r, u32 limit)
{
    return r->exits && r->end < limit && !is_led_to(o->a, r->end) ? r->end + 1 : r->end;
}

/* A row that ends at `limit` or before. */
static void put_row(struct output *o, const struct region_row *r, u32 limit)
{
    u32 end = end_of_row(o, r, limit);
    if (r->end <= o->done) /* cannot be: regions that overlap are not proven */
        return;
    u32 at = r->at > o->done ? r->at : o->done;
    if (at > o->done)
        put_hole(o, at);
    put(o, at, r->rule);
    o->a->n->code_bytes += end - at;
    if (XP_RULE_CFA(r->rule.kind) != XP_CFA_UNPROVEN)
        o->a->n->claimed_bytes += end - at;
    o->done = end;
}

static void put_gap(struct output *o, size_t *next)
{
    struct analysis *a = o->a;
    u32 end = o->gap->base + (u32)(o->gap->end - o->gap->start);
    struct synth_span *range = VEC_PUSH(&o->out->ranges);
    if (!range) {
        a->err = -ENOMEM;
        return;
    }
    *range = (struct synth_span){o->gap->offset, o->gap->offset + (end - o->gap->base)};
    for (o->done = o->gap->base; *next < a->rows.n && a->rows.v[*next].at < end && !a->err; ++*next) {
        const struct region_row *r = &a->rows.v[*next];
        put_row(o, r, *next + 1 < a->rows.n && r[1].at < end ? r[1].at : end);
    }
    if (o->done < end && !a->err)
        put_hole(o, end);
}

void emit_rows(struct analysis *a, struct synth *out)
{
    struct output o = {.a = a, .out = out};
    size_t next = 0;
    keep_proven(a);
    for (size_t i = 0; i < a->code.gaps.n && !a->err; i++) {
        o.gap = &a->code.gaps.v[i];
        put_gap(&o, &next);
    }
    for (u32 at = 0; at < a->code.size; at++)
        a->n->entries += (a->code.marks[at] & CODE_ENTRY) != 0;
    for (size_t i = 0; i < a->regions.n; i++) {
        const struct region *r = &a->regions.v[i];
        a->n->regions += !r->gone && !r->frame.orphan;
        a->n->proven += !r->frame.orphan && r->ok && proof_holds(r);
        a->n->bad += !r->gone && r->bad && !r->frame.orphan;
    }
}
