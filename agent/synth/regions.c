/* Regions: their entries, their being followed, joined and run again. The idea is in analysis.h. */
#include "synth/analysis.h"
#include "base/clock.h"
#include <errno.h>

#define TICK 4096 /* pieces of work between two looks at the clock */

void analysis_drop(struct analysis *a, enum synth_drop why)
{
    if (!a->dropped)
        a->dropped = why;
}

void analysis_tick(struct analysis *a)
{
    if (++a->ticks % TICK)
        return;
    if (a->n->insns > a->limits->max_insns)
        analysis_drop(a, SYNTH_DROP_INSNS);
    if (clock_ns(CLOCK_THREAD_CPUTIME_ID) - a->started > a->limits->max_cpu_ms * 1000000ull)
        analysis_drop(a, SYNTH_DROP_TIME);
}

/* ---- Entries ---- */

static u32 *push_asked(struct analysis *a)
{
    u32 *p = a->asked.n < MAX_NOTES ? VEC_PUSH(&a->asked) : NULL;
    if (!p)
        analysis_drop(a, SYNTH_DROP_MEMORY);
    return p;
}

static u8 *mark_at(struct analysis *a, u64 pc, u32 *at)
{
    analysis_tick(a);
    return code_find(&a->code, pc, at) ? &a->code.marks[*at] : NULL;
}

static void ask(struct analysis *a, u32 at, u8 *mark, u8 weak)
{
    u32 *p = push_asked(a);
    if (!p)
        return;
    *p = at;
    *mark |= CODE_ASKED | weak;
    if (!(*mark & (CODE_INSN | CODE_MID | CODE_LEAD)))
        *mark |= CODE_ENTRY;
}

void region_ask(struct analysis *a, u64 pc)
{
    u32 at;
    u8 *mark = mark_at(a, pc, &at);
    if (mark)
        *mark &= (u8)~CODE_WEAK;
    if (mark && !(*mark & CODE_ASKED))
        ask(a, at, mark, 0);
}

void region_ask_weakly(struct analysis *a, u64 pc)
{
    u32 at;
    u8 *mark = mark_at(a, pc, &at);
    if (mark && !(*mark & (CODE_ASKED | CODE_REFUSED)))
        ask(a, at, mark, CODE_WEAK);
}

static void begin(struct analysis *a, bool orphan)
{
    struct region *r = a->regions.n < MAX_REGIONS ? VEC_PUSH(&a->regions) : NULL;
    if (!r) {
        analysis_drop(a, SYNTH_DROP_MEMORY);
        return;
    }
    *r = (struct region){.first_block = (u32)a->blocks.n, .first_row = (u32)a->rows.n, .entry = NOBODY};
    r->frame.orphan = orphan;
    r->kept = 0xffff;
    a->current = (u32)a->regions.n - 1;
    a->joined = NOBODY;
    a->states.n = a->queue.n = 0;
    a->stores.n = 0;
}

static void add_entry(struct analysis *a, u32 at)
{
    struct region_entry *e = a->entries.n < MAX_NOTES ? VEC_PUSH(&a->entries) : NULL;
    if (!e) {
        analysis_drop(a, SYNTH_DROP_MEMORY);
        return;
    }
    *e = (struct region_entry){at, region_current(a)->entry};
    region_current(a)->entry = (u32)a->entries.n - 1;
}

/* The entries of a region that was taken back become the current one's. */
static void inherit(struct analysis *a, u32 from)
{
    u32 last = a->regions.v[from].entry;
    while (last != NOBODY && a->entries.v[last].next != NOBODY)
        last = a->entries.v[last].next;
    if (last == NOBODY)
        return;
    a->entries.v[last].next = region_current(a)->entry;
    region_current(a)->entry = a->regions.v[from].entry;
    a->regions.v[from].entry = NOBODY;
}

/* ... or are to be followed each by itself. */
static void ask_again(struct analysis *a, u32 from)
{
    for (u32 i = a->regions.v[from].entry; i != NOBODY; i = a->entries.v[i].next) {
        u32 *p = a->code.marks[a->entries.v[i].at] & CODE_ASKED ? push_asked(a) : NULL;
        if (p)
            *p = a->entries.v[i].at;
    }
    a->regions.v[from].entry = NOBODY;
}

/* ---- Weak entries ---- */

bool region_is_weak(const struct analysis *a)
{
    for (u32 i = a->regions.v[a->current].entry; i != NOBODY; i = a->entries.v[i].next)
        if (a->code.marks[a->entries.v[i].at] & CODE_WEAK)
            return true;
    return false;
}

static void refuse(struct analysis *a, u32 at)
{
    a->code.marks[at] &= (u8) ~(CODE_WEAK | CODE_ENTRY | CODE_ASKED);
    a->code.marks[at] |= CODE_REFUSED;
}

/* A region loses its weak entries. False: it has none. */
static bool refuse_weak(struct analysis *a, u32 region)
{
    bool any = false;
    for (u32 *p = &a->regions.v[region].entry; *p != NOBODY;) {
        struct region_entry *e = &a->entries.v[*p];
        if (!(a->code.marks[e->at] & CODE_WEAK)) {
            p = &e->next;
            continue;
        }
        refuse(a, e->at);
        *p = e->next;
        any = true;
    }
    return any;
}

void region_refuse_entry(struct analysis *a, u32 at)
{
    const struct block *b = region_block_at(a, at);
    u32 region = b ? b->region : NOBODY;
    refuse(a, at);
    if (region == NOBODY)
        return;
    a->n->reruns++;
    region_take_back(a, region);
    ask_again(a, region);
}

/* ---- Following ---- */

static void start_at(struct analysis *a, u32 at)
{
    struct state s;
    struct block *b = a->code.marks[at] & CODE_INSN ? region_block_of(a, at) : NULL;
    state_entry(&s);
    if (b && b->region != a->current) {
        a->joined = b->region;
    } else if (!region_block_at(a, at)) {
        b = region_add_block(a, at, &s);
        if (b)
            flow_enqueue(a, b);
    }
}

static void follow(struct analysis *a)
{
    for (u32 i = region_current(a)->entry; i != NOBODY && a->joined == NOBODY && !analysis_over(a);
         i = a->entries.v[i].next)
        start_at(a, a->entries.v[i].at);
    flow_run(a);
}

/* The current region begins anew, with another one that it flows into (NOBODY: with none). */
static void begin_again(struct analysis *a, u32 other)
{
    u32 me = a->current;
    a->n->reruns++;
    region_take_back(a, me);
    if (other != NOBODY)
        region_take_back(a, other);
    begin(a, false);
    if (other != NOBODY)
        inherit(a, other);
    inherit(a, me);
}

/* Follows the current region; where it flows into another, both as one; where it contradicts itself, without those
 * entries that may be none. */
static void complete(struct analysis *a)
{
    follow(a);
    while (!analysis_over(a) && (a->joined != NOBODY || (region_current(a)->bad && refuse_weak(a, a->current)))) {
        begin_again(a, a->joined);
        follow(a);
    }
    struct region *r = region_current(a);
    r->endless = proof_is_endless(a);
    if (!analysis_over(a) && !r->bad && (r->ok || r->waits || r->endless))
        emit_region(a);
}

static void run_entry(struct analysis *a, u32 at)
{
    u8 *mark = &a->code.marks[at];
    struct block *inside = *mark & CODE_INSN ? region_block_of(a, at) : NULL;
    if (!(*mark & CODE_ASKED) || (*mark & CODE_MID) || (inside && inside->at == at && (*mark & CODE_ENTRY)))
        return;   /* nonsense, or done */
    if (inside) { /* it begins inside of what has been one region so far */
        u32 region = inside->region;
        a->n->reruns++;
        region_take_back(a, region);
        if (!a->regions.v[region].frame.orphan)
            ask_again(a, region);
    }
    *mark |= CODE_ENTRY;
    begin(a, false);
    if (analysis_over(a))
        return;
    add_entry(a, at);
    complete(a);
}

void region_run_asked(struct analysis *a)
{
    while (a->asked.n && !analysis_over(a))
        run_entry(a, a->asked.v[--a->asked.n]);
}

static void note_trust(struct analysis *a, u32 callee, u16 kept)
{
    struct region_trust *last = a->trust.n ? &a->trust.v[a->trust.n - 1] : NULL;
    if (last && last->region == a->current && last->callee == callee && last->kept == kept)
        return;
    struct region_trust *t = a->trust.n < MAX_NOTES ? VEC_PUSH(&a->trust) : NULL;
    if (!t)
        analysis_drop(a, SYNTH_DROP_MEMORY);
    else
        *t = (struct region_trust){a->current, callee, kept};
}

u16 region_kept_by(struct analysis *a, u32 callee)
{
    const struct block *b = region_block_at(a, callee);
    const struct region *r = b && b->region != a->current ? &a->regions.v[b->region] : NULL;
    if (!r || r->frame.orphan || !proof_holds(r))
        return KEPT_BY_ABI;
    note_trust(a, callee, r->kept);
    return r->kept;
}

/* Of a function of the gaps; NULL: not known yet, or the current one. */
static const struct region *region_of(struct analysis *a, u64 callee)
{
    u32 at;
    const struct block *b = code_find(&a->code, callee, &at) ? region_block_at(a, at) : NULL;
    return b && b->region != a->current ? &a->regions.v[b->region] : NULL;
}

bool region_stays(struct analysis *a, u64 callee)
{
    const struct region *r = region_of(a, callee);
    return r && r->endless && !r->passes_on && !r->bad;
}

enum region_end region_end_of(struct analysis *a, u64 callee)
{
    const struct region *r = region_of(a, callee);
    if (!r || r->frame.orphan || proof_holds(r))
        return REGION_RETURNS;
    return r->bad || r->open || r->waits ? REGION_MAY_RETURN : REGION_STAYS;
}

u16 region_kept(struct analysis *a, const struct insn *x, u64 next)
{
    u32 at;
    if (x->op != INSN_CALL || x->a.kind != INSN_IMM || !code_find(&a->code, next + (u64)x->a.value, &at))
        return KEPT_BY_ABI;
    region_current(a)->calls = true;
    return region_kept_by(a, at);
}

static void again(struct analysis *a, u32 region)
{
    a->n->reruns++;
    region_take_back(a, region);
    ask_again(a, region);
}

bool region_run_again(struct analysis *a, bool unproven)
{
    size_t n = a->regions.n, trust = a->trust.n;
    for (size_t i = 0; i < trust && !analysis_over(a); i++)
        if (!proof_is_kept(a, &a->trust.v[i]))
            again(a, a->trust.v[i].region);
    for (size_t i = 0; unproven && i < n && !analysis_over(a); i++) {
        const struct region *r = &a->regions.v[i];
        if (!r->gone && !r->frame.orphan && (r->waits || (r->calls && !r->endless && !proof_holds(r))))
            again(a, (u32)i);
    }
    bool any = a->asked.n;
    region_run_asked(a);
    return any;
}

static void follow_orphan(struct analysis *a, u32 at)
{
    begin(a, true);
    if (analysis_over(a))
        return;
    start_at(a, at);
    flow_run(a);
}

void region_run_orphan(struct analysis *a, u32 at)
{
    a->n->orphans++;
    follow_orphan(a, at);
    if (a->asked.n && !analysis_over(a)) { /* once more, when it is known which of these calls return */
        region_take_back(a, a->current);
        region_run_asked(a);
        if (!(a->code.marks[at] & (CODE_INSN | CODE_MID)))
            follow_orphan(a, at);
    }
    struct region *r = region_current(a);
    if (analysis_over(a) || !r->ok || r->bad || !r->frame.orphan)
        return;
    a->n->solved++;
    proof_settle(a);
    emit_region(a);
}
