/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Looks up the rule for (table, file offset): a per-CPU cache, then block index and search.
 */
#pragma once

/* Returns 1 + the last row in [lo, hi) whose offset within the block is <= x. Descends by powers of two: as long as the
 * verifier does not track lo, all paths to a step are the same state; a search by lo/hi/mid takes 30 to 300 times as
 * long to verify. */
XP_INLINE u32 xp_search(u64 lo, u64 hi, u32 x)
{
    XP_UNROLL
    for (int k = XP_BLOCK_SHIFT; k >= 0; k--) {
        u32 step = 1u << k;
        if (hi - lo >= step && (xp_shard_word((u32)lo + step - 1) & 0xffff) <= x)
            lo += step;
        XP_FORGET(lo); /* that it grew */
    }
    return (u32)lo;
}

/* Returns the rule for `off` in the current table, as one word; 0 (XP_CFA_NONE) if nothing covers it. A separate
 * function, so that the search is verified once. */
XP_NOINLINE u64 xp_table_rule(u64 off)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 0;
    const struct xp_file *f = &s->cur.file;
    u64 block = (off - f->lo) >> XP_BLOCK_SHIFT;
    if (off < f->lo || block >= f->nblocks)
        return 0;
    u32 lo = xp_shard_word(f->index + (u32)block), hi = xp_shard_word(f->index + (u32)block + 1);
    u32 row = xp_search(lo, hi, (u32)off & (XP_BLOCK - 1));
    /* Before the first row of the block, the last row of an earlier block applies; row 0 is a sentinel. */
    const u64 *r = (const u64 *)xp_rule_get(xp_shard_word(row - 1) >> 16);
    return r ? *r : 0;
}

XP_INLINE struct xp_rule xp_as_rule(u64 word)
{
    union {
        u64 word;
        struct xp_rule rule;
    } u = {.word = word};
    return u.rule;
}

XP_INLINE u64 xp_rule_word(struct xp_rule r)
{
    union {
        struct xp_rule rule;
        u64 word;
    } u = {.rule = r};
    return u.word;
}

/* Puts a rule into a pair of entries. That of a leaf, which is hardly ever met again, takes the place of no caller's
 * but the older one's. */
XP_INLINE void xp_cache_put(struct xp_cache_entry *pair, u64 tag, struct xp_rule r, u32 leaf)
{
    if (!leaf)
        pair[1] = pair[0];
    pair[leaf ? 1 : 0] = (struct xp_cache_entry){.tag = tag, .rule = r};
}

/* Returns the rule for `off` in the current table. */
XP_INLINE struct xp_rule xp_find_rule(struct xp_state *s, u64 off)
{
    u64 tag = (u64)s->cur.file.uid << XP_OFFSET_BITS | off;
    struct xp_cache *c = xp_cache_get(s);
    if (!c)
        return xp_as_rule(xp_table_rule(off));
    struct xp_cache_entry *pair = &c->slot[(tag * 0x9e3779b97f4a7c15ull >> 40) & (XP_CACHE_SLOTS - 2)];
    if (pair[0].tag == tag || pair[1].tag == tag) {
        s->hits++;
        return pair[0].tag == tag ? pair[0].rule : pair[1].rule;
    }
    s->misses++;
    struct xp_rule r = xp_as_rule(xp_table_rule(off));
    xp_cache_put(pair, tag, r, s->leaf);
    return r;
}
