/* Where a switch goes. A table has no length, and what bounds its index is not looked at: it ends at the latest where
 * something else begins that code names (the next table, mostly), or where an entry leads nowhere near. Nor need it
 * begin where its address is, when the index is never 0: so entries that lead into the middle of instructions are
 * passed over. */
#include "synth/analysis.h"
#include <errno.h>

#define NEAR     (1 << 20) /* bytes between a switch and its cases */
#define MAX_ENDS (1u << 21)
#define MAX_LEAD (1 << 14) /* bytes between a case and what is known to be code before it */

/* All that a "lea reg, [rip + x]" could name: bytes are looked at, not instructions. */
static void scan(struct analysis *a, const struct code_span *s)
{
    const u8 *p = a->code.elf->map + s->offset;
    u64 n = s->end - s->offset;
    for (u64 i = 0; i + 7 <= n && !analysis_over(a); i++) {
        s32 disp;
        if ((p[i] & 0xfb) != 0x48 || p[i + 1] != 0x8d || (p[i + 2] & 0xc7) != 5)
            continue;
        u32 *end = a->table_ends.n < MAX_ENDS ? VEC_PUSH(&a->table_ends) : NULL;
        if (!end) {
            analysis_drop(a, SYNTH_DROP_MEMORY);
            return;
        }
        memcpy(&disp, p + i + 3, sizeof(disp));
        *end = (u32)(s->addr + i + 7 + (u64)(s64)disp);
    }
}

static void read_ends(struct analysis *a)
{
    a->table_ends_read = true;
    for (size_t i = 0; i < a->code.executable.n && !analysis_over(a); i++)
        scan(a, &a->code.executable.v[i]);
    if (a->table_ends.n)
        qsort(a->table_ends.v, a->table_ends.n, sizeof(*a->table_ends.v), code_by_number);
}

bool jump_table_may_end(struct analysis *a, u64 pc)
{
    u32 low = (u32)pc;
    if (!a->table_ends_read)
        read_ends(a);
    return a->table_ends.n && bsearch(&low, a->table_ends.v, a->table_ends.n, sizeof(low), code_by_number);
}

/* The first address behind `table` at which something else begins; 32 bits of it are known of the table, too. */
static u64 end_of(struct analysis *a, u64 table)
{
    size_t lo = 0, hi = a->table_ends.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (a->table_ends.v[mid] <= (u32)table)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < a->table_ends.n ? (table & ~0xffffffffull) + a->table_ends.v[lo] : ~0ull;
}

/* Does an instruction begin here, as seen from the nearest one before that is known? What is swept once is known. */
static bool is_instruction(struct analysis *a, u32 at)
{
    const struct code_gap *g = code_gap_of(&a->code, at);
    const u8 known = CODE_INSN | CODE_ENTRY | CODE_SWEPT;
    u8 *marks = a->code.marks;
    struct insn x;
    size_t left;
    u32 from = at;
    while (from > g->base && at - from < MAX_LEAD && !(marks[from] & known))
        from--;
    if (!(marks[from] & known))
        from = g->base;
    for (; from < at && !analysis_over(a); from += x.len) {
        const u8 *p = code_bytes(g, from, &left);
        analysis_count(a);
        marks[from] |= CODE_SWEPT;
        if (!insn_decode(p, left, &x))
            x.len = 1;
    }
    return from == at;
}

/* Entry i: where it leads. False: it is none. */
static bool case_at(struct analysis *a, const struct step *x, u32 i, u64 pc, u64 *target, u32 *at)
{
    size_t left, size = x->absolute ? 8 : 4;
    const u8 *p = elf_at(a->code.elf, x->table + i * size, &left);
    s32 relative;
    if (!p || left < size)
        return false;
    memcpy(&relative, p, sizeof(relative));
    *target = x->table + (u64)(s64)relative;
    if (x->absolute)
        memcpy(target, p, sizeof(*target));
    return *target - (pc - NEAR) <= 2 * NEAR && code_find(&a->code, *target, at);
}

void jump_table_follow(struct analysis *a, const struct step *x, u64 pc, const struct state *s)
{
    u64 target;
    u32 at;
    if (!x->table)
        return;
    if (!a->table_ends_read)
        read_ends(a);
    a->n->tables++;
    u64 end = end_of(a, x->table), size = x->absolute ? 8 : 4;
    if (end < x->table + size || !case_at(a, x, 0, pc, &target, &at)) /* perhaps it is none */
        region_current(a)->doubtful = true;
    for (u32 i = 0; i < MAX_TABLE && x->table + (i + 1) * size <= end; i++) {
        if (analysis_over(a) || a->joined != NOBODY || !case_at(a, x, i, pc, &target, &at))
            return;
        if (is_instruction(a, at))
            flow_to(a, target, s, FLOW_CASE);
    }
}
