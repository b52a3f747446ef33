/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The last resort in generated code that has neither unwind information nor frame pointers: looks for the next return
 * address up the stack. Many compilers of scripts let what they generate run in one frame, on the stack of the C
 * function that has called it, so that the address found is that of this function. A word is believed to be a return
 * address if a call stands before where it leads, and if the frame that its code has by its unwind information ends
 * with such a word, too. Frames found so are marked (XP_WORD_INFERRED).
 */
#pragma once

#define XP_SCAN_WORDS   192 /* of the stack */
#define XP_SCAN_BATCH   8   /* of these, in a verified function */
#define XP_SCAN_CALLERS 6   /* that are looked at before one is believed */
#define XP_SCAN_WALKS   64  /* through the process's mappings, of one stack */

enum { XP_SEEK_ON, XP_SEEK_END, XP_SEEK_NOT };

/* Returns the word at `at` if a call stands before where it leads; 0: it is no return address, ~0: not readable. */
XP_INLINE u64 xp_scan_word(struct xp_state *s, u64 at)
{
    u64 word;
    if (xp_load(s, at, &word))
        return ~0ull;
    int other = word < 4096 || word >= XP_USER_END || word - s->sp < XP_REG_REACH;
    return other || xp_follows_call(s, word) <= 0 ? 0 : word;
}

/* Where the frame ends that is looked at; 0: it is not known. */
XP_INLINE u64 xp_scan_cfa(const struct xp_seek *k, struct xp_rule r)
{
    u32 kind = XP_RULE_CFA(r.kind);
    if (kind == XP_CFA_RSP || kind == XP_CFA_RSP_LOOP)
        return k->sp + r.cfa_off;
    if (kind != XP_CFA_RBP && kind != XP_CFA_RBP_LOOP)
        return 0;
    return k->bp - k->sp < XP_REG_REACH ? k->bp + r.cfa_off : 0;
}

/* Goes to the caller of the frame in s->seek. Returns XP_SEEK_*. */
XP_NOINLINE int xp_scan_caller(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    u64 next;
    if (!s || xp_switch_mapping(s, s->seek.ra - 1))
        return XP_SEEK_NOT;
    if (!s->cur.file.id)
        return XP_SEEK_END; /* generated code that was called by such */
    if (s->cur.file.state != XP_FILE_READY)
        return XP_SEEK_NOT;
    struct xp_rule r = xp_rule_at(s, s->seek.ra - 1);
    if (XP_RULE_CFA(r.kind) == XP_CFA_END)
        return XP_SEEK_END;
    u64 cfa = xp_scan_cfa(&s->seek, r);
    u32 where = XP_RULE_RBP(r.kind);
    if (where != XP_RBP_SAME && (where != XP_RBP_CFA || !cfa || xp_load(s, cfa + r.rbp_off, &s->seek.bp)))
        s->seek.bp = XP_RBP_UNKNOWN;
    if (!cfa || xp_load(s, cfa - 8, &next))
        return XP_SEEK_NOT;
    s->seek.ra = next;
    s->seek.sp = cfa;
    return !next ? XP_SEEK_END : xp_follows_call(s, next) > 0 ? XP_SEEK_ON : XP_SEEK_NOT;
}

/* Whether `ra`, which is at `at`, is a return address: so are those of its callers. */
XP_INLINE int xp_scan_believes(struct xp_state *s, u64 ra, u64 at)
{
    int outcome = XP_SEEK_ON;
    s->seek.ra = ra;
    s->seek.sp = at + 8;
    s->seek.bp = s->bp - at < XP_REG_REACH ? s->bp : XP_RBP_UNKNOWN;
    for (u32 i = 0; i < XP_SCAN_CALLERS && outcome == XP_SEEK_ON; i++)
        outcome = xp_scan_caller(i);
    return outcome != XP_SEEK_NOT;
}

/* Looks at XP_SCAN_BATCH words. Returns 0: one is the caller's; 1: none; 2: and there are no more. */
XP_NOINLINE int xp_scan_batch(u64 from)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 2;
    for (u32 i = 0; i < XP_SCAN_BATCH; i++) {
        u64 at = from + 8 * i, ra = xp_scan_word(s, at);
        if (ra == ~0ull)
            return 2;
        if (!ra || !xp_scan_believes(s, ra, at))
            continue;
        s->runtime |= XP_SCANNED;
        s->fp_frames++;
        return xp_arrive(s, ra, at + 8, s->bp - at < XP_REG_REACH ? s->bp : XP_RBP_UNKNOWN, XP_WORD_INFERRED);
    }
    return s->walks > XP_SCAN_WALKS ? 2 : 1;
}

/* Steps to the caller of generated code that could not be unwound. Returns 0; 1: it was not found, and the cause is
 * what it was. Calls are nested deep in what this calls. */
XP_INLINE int xp_scan(void)
{
    struct xp_state *s = xp_state_get();
    int outcome = 1;
    if (!s)
        return 1;
    u64 from = (s->sp + 7) & ~7ull;
    for (u32 i = 0; i < XP_SCAN_WORDS / XP_SCAN_BATCH && outcome == 1; i++)
        outcome = xp_scan_batch(from + 8ull * XP_SCAN_BATCH * i);
    return outcome ? 1 : 0;
}
