#include "inspect/inspect.h"
#include "cfi/table.h"
#include "parser/synth_table.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- Code without rows ------------------------------------------------------------------------------------------- */

struct sweep {
    struct inspection *out;
    u64 gap; /* where one began; ~0: none is open */
};

static void close_gap(struct sweep *s, u64 end)
{
    struct inspection *o = s->out;
    struct inspect_gap gap = {s->gap, end - s->gap};
    if (s->gap == ~0ull || end <= s->gap)
        return;
    s->gap = ~0ull;
    o->ngaps++;
    o->covered -= gap.len;
    for (size_t i = 0; i < INSPECT_GAPS; i++)
        if (gap.len > o->gaps[i].len) {
            struct inspect_gap smaller = o->gaps[i];
            o->gaps[i] = gap;
            gap = smaller;
        }
}

/* From `from` on, as far as the segment goes, this rule holds. */
static void step(struct sweep *s, const struct facts_segment *seg, u64 from, const struct xp_rule *rule)
{
    u32 kind = rule ? XP_RULE_CFA(rule->kind) : XP_CFA_NONE;
    bool gap = kind == XP_CFA_NONE || kind == XP_CFA_UNSUPPORTED || kind == XP_CFA_UNPROVEN;
    u64 end = seg->offset + seg->size;
    from = from < seg->offset ? seg->offset : from > end ? end : from;
    if (gap && s->gap == ~0ull)
        s->gap = from;
    else if (!gap)
        close_gap(s, from);
}

static void sweep_segment(struct inspection *out, const struct facts_segment *seg, const struct xp_table *t)
{
    struct sweep s = {out, ~0ull};
    out->code += seg->size;
    out->covered += seg->size;
    step(&s, seg, seg->offset, NULL);
    for (u32 b = 0; b < t->nblocks; b++)
        for (u32 i = table_index(t)[b]; i < table_index(t)[b + 1]; i++) {
            u32 row = table_rows(t)[i];
            u64 at = t->lo + (u64)b * XP_BLOCK + (row & 0xffff);
            if (at <= seg->offset) /* the last one of these holds at the segment's start */
                s.gap = ~0ull;
            step(&s, seg, at, &table_rules(t)[row >> 16]);
        }
    close_gap(&s, seg->offset + seg->size);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static void sweep(struct inspection *out, const struct xp_table *t)
{
    out->table = *t;
    out->code = out->covered = 0;
    out->ngaps = 0;
    memset(out->gaps, 0, sizeof(out->gaps));
    for (size_t i = 0; i < out->facts.nsegments; i++)
        sweep_segment(out, &out->facts.segments[i], t);
}

/* Those that stacks have stopped in so far, as the cache has them. */
static void look_at_stretches(struct binaries *b, u32 id, struct inspection *out, const struct parser_synth **s)
{
    const struct parser_synth *made;
    out->by_stretches = true;
    if (binaries_stretches(b, id, NULL, 0, &made))
        return;
    out->synth = made->counts;
    if (made->stretches) {
        size_t n;
        synth_stretches_wanted(made->stretches, &n);
        out->nstretches = (u32)n;
    }
    *s = made;
}

/* Code without rows is looked at as it is when stacks stop in it; then the table is the one with all rows. */
static void look_at_gaps(struct binaries *b, u32 id, struct inspection *out)
{
    const struct parser_synth *s;
    out->synth_tried = true;
    out->synth_error = binaries_synth(b, id, &s);
    if (out->synth_error)
        return;
    out->dropped = s->dropped;
    out->synth = s->counts;
    if (synth_drop_is_limit(s->dropped))
        look_at_stretches(b, id, out, &s);
    if (s->table)
        sweep(out, s->table);
}

static void look_at_table(struct binaries *b, u32 id, struct inspection *out)
{
    const struct xp_table *t;
    out->table_error = binaries_table(b, id, &t);
    if (out->table_error)
        return;
    sweep(out, t);
    if (out->ngaps)
        look_at_gaps(b, id, out);
}

int inspect(struct binaries *b, u32 id, int root, struct inspection *out)
{
    struct inspection i = {.file = binaries_get(b, id), .debug = DEBUG_FILES_NONE};
    if (!i.file)
        return -ENOENT;
    i.error = i.file->error ? i.file->error : binaries_facts(b, id, &i.facts);
    if (!i.error) {
        look_at_table(b, id, &i);
        i.debug_error = binaries_debug_files(b, id, root, &i.debug, &i.trace);
        i.lines_error = binaries_lines(b, id, &i.lines);
    }
    *out = i;
    return 0;
}

void inspection_free(struct inspection *i)
{
    debug_files_free(&i->debug);
    debug_trace_free(&i->trace);
}

/* What the instructions say of one offset. NULL: nothing. */
static const struct xp_table *derive(struct binaries *b, u32 id, u64 offset)
{
    const struct parser_synth *s;
    if (binaries_synth(b, id, &s))
        return NULL;
    if (synth_drop_is_limit(s->dropped)) {
        int rc = binaries_stretches(b, id, &offset, 1, &s);
        return rc && rc != -ENODATA ? NULL : s->table;
    }
    return s->table;
}

int inspect_rule(struct binaries *b, u32 id, u64 offset, struct xp_rule *out)
{
    const struct xp_table *t;
    int rc = binaries_table(b, id, &t);
    if (rc)
        return rc;
    *out = table_rule_at(t, offset);
    t = XP_RULE_CFA(out->kind) == XP_CFA_NONE ? derive(b, id, offset) : NULL;
    if (t)
        *out = table_rule_at(t, offset);
    return 0;
}
