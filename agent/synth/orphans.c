/* Code that nothing known leads to: cases of switches that were not understood, functions that only data names, what
 * is behind a call that might not return. Each is run as if a function began there; how far that was wrong, and where
 * the caller's registers are, its rets say. */
#include "synth/analysis.h"

static bool is_reached(const struct analysis *a, u32 at)
{
    return a->code.marks[at] & (CODE_INSN | CODE_MID);
}

/* Only what follows padding or other code may be a beginning: not every byte of data is tried. */
static void run_gap(struct analysis *a, const struct code_gap *g)
{
    u32 end = g->base + (u32)(g->end - g->start);
    bool may_begin = true;
    for (u32 at = g->base; at < end && !analysis_over(a);) {
        size_t left, n;
        const u8 *p = code_bytes(g, at, &left);
        if (is_reached(a, at)) {
            may_begin = true;
            at++;
        } else if ((n = code_padding(p, left))) {
            may_begin = true;
            at += (u32)n;
        } else {
            if (may_begin)
                region_run_orphan(a, at);
            may_begin = false;
            at += is_reached(a, at) ? 0 : 1;
        }
    }
}

void orphans_run(struct analysis *a)
{
    for (size_t i = 0; i < a->code.gaps.n && !analysis_over(a); i++)
        run_gap(a, &a->code.gaps.v[i]);
}
