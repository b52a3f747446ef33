/* What makes an image sound, and what stands in a sound one. */
#include "base/hash.h"
#include "cfi/table.h"
#include <errno.h>

/* The header's numbers add up to exactly `len`; the products cannot overflow: all counts are 32-bit. */
static bool sizes_fit(const struct xp_table *t, size_t len)
{
    u64 sources = 0;
    for (unsigned i = 0; i < XP_SOURCE_COUNT; i++)
        sources += t->source_rows[i];
    return t->magic == XP_TABLE_MAGIC && t->version == XP_TABLE_VERSION &&
           !(t->flags & ~(XP_TABLE_FP_OK | XP_TABLE_V8 | XP_TABLE_OF_LANGUAGE(7u))) && t->nrows >= 1 &&
           sources < t->nrows && t->nrules >= 1 && t->nrules < XP_MAX_RULES && !(t->lo & (XP_BLOCK - 1)) &&
           t->lo < 1ull << XP_OFFSET_BITS && t->nblocks <= (1ull << XP_OFFSET_BITS) >> XP_BLOCK_SHIFT &&
           t->build_id_len <= sizeof(t->build_id) &&
           len == sizeof(*t) + 4 * ((u64)t->nblocks + 1 + t->nrows) + sizeof(struct xp_rule) * (u64)t->nrules;
}

/* What may be synthesised: frames of ordinary functions, where a thread begins, and that nothing is known. */
static const u32 synth_kinds = 1u << XP_CFA_RSP | 1u << XP_CFA_RBP | 1u << XP_CFA_RBX | 1u << XP_CFA_DEREF_RBP |
                               1u << XP_CFA_DEREF_RSP | 1u << XP_CFA_RSP_DEREF | 1u << XP_CFA_REG |
                               1u << XP_CFA_RA_REG | 1u << XP_CFA_END | 1u << XP_CFA_UNPROVEN;

static bool rule_known(const struct xp_rule *r)
{
    unsigned cfa = XP_RULE_CFA(r->kind);
    if (cfa >= XP_CFA_COUNT || (r->kind & XP_RULE_SYNTH && !(synth_kinds >> cfa & 1)))
        return false;
    if (cfa == XP_CFA_REG || cfa == XP_CFA_INDEXED)
        return XP_REG_NUMBER(r->cfa_off) <= 15;
    return cfa != XP_CFA_RA_REG || (r->rbp_off >= 0 && r->rbp_off <= 15);
}

static bool rules_known(const struct xp_rule *rules, u32 n)
{
    for (u32 i = 0; i < n; i++)
        if (!rule_known(&rules[i]))
            return false;
    return XP_RULE_CFA(rules[0].kind) == XP_CFA_NONE; /* the sentinel's */
}

/* Each block's rows ascend strictly, and all rules exist. */
static bool rows_ascend(const u32 *index, const u32 *rows, const struct xp_table *t)
{
    if (index[0] != 1 || index[t->nblocks] != t->nrows || rows[0])
        return false;
    for (u32 b = 0; b < t->nblocks; b++) {
        u32 i = index[b], end = index[b + 1];
        if (i > end || end > t->nrows)
            return false;
        s32 last = -1;
        for (; i < end; i++) {
            s32 at = (s32)(rows[i] & 0xffff);
            if (at <= last || at >= (s32)XP_BLOCK || rows[i] >> 16 >= t->nrules)
                return false;
            last = at;
        }
    }
    return true;
}

int table_check(const void *image, size_t len)
{
    const struct xp_table *t = image;
    if (len < sizeof(*t) || !sizes_fit(t, len) || t->checksum != hash_block(t + 1, len - sizeof(*t), 0) ||
        !rules_known(table_rules(t), t->nrules) || !rows_ascend(table_index(t), table_rows(t), t))
        return -EBADMSG;
    /* Behind the last row nothing is known. */
    const struct xp_rule *last = &table_rules(t)[table_rows(t)[t->nrows - 1] >> 16];
    return XP_RULE_CFA(last->kind) == XP_CFA_NONE ? 0 : -EBADMSG;
}

struct xp_rule table_rule_at(const struct xp_table *t, u64 offset)
{
    const u32 *index = table_index(t), *rows = table_rows(t);
    u64 block = (offset - t->lo) >> XP_BLOCK_SHIFT;
    u32 in = offset & (XP_BLOCK - 1), lo = 0;
    if (offset >= t->lo && block < t->nblocks) {
        u32 hi = index[block + 1];
        for (lo = index[block]; lo < hi;) { /* the first row beyond the offset; the one before it holds */
            u32 mid = lo + (hi - lo) / 2;
            if ((rows[mid] & 0xffff) <= in)
                lo = mid + 1;
            else
                hi = mid;
        }
        lo--;
    }
    return table_rules(t)[rows[lo] >> 16];
}

const char *table_source_name(enum xp_source s)
{
    static const char *const names[XP_SOURCE_COUNT] = {
#define NAME(name, slug) slug,
        XP_SOURCES(NAME)
#undef NAME
    };
    return names[s];
}
