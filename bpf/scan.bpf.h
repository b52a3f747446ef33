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

XP_INLINE u64 xp_scan_bp(const struct xp_state *s)
{
    return s->bp - s->seek.at < XP_REG_REACH ? s->bp : XP_RBP_UNKNOWN;
}

/* Whether the word at s->seek.at is a return address: so are those of its callers. */
XP_INLINE int xp_scan_believes(struct xp_state *s)
{
    int outcome = XP_SEEK_ON;
    s->seek.ra = s->seek.word;
    s->seek.sp = s->seek.at + 8;
    s->seek.bp = xp_scan_bp(s);
    for (u32 i = 0; i < XP_SCAN_CALLERS && outcome == XP_SEEK_ON; i++)
        outcome = xp_scan_caller(i);
    return outcome != XP_SEEK_NOT;
}

/* Goes on from there. Returns 0; XP_LOOP: the code stands for frames of a script. */
XP_INLINE int xp_scan_found(struct xp_state *s)
{
    xp_arrive(s, s->seek.word, s->seek.at + 8, xp_scan_bp(s), XP_WORD_INFERRED);
    if (s->sc.language == XP_LANGUAGE_RUBY)
        return XP_LOOP;
    s->runtime |= XP_SCANNED;
    s->fp_frames++;
    return 0;
}

#define XP_SCAN_ON   1 /* results: there may be one in the next words */
#define XP_SCAN_NONE 3 /* there are no more words */

/* Looks at so many words, the stack's batch of this number. Returns what xp_scan_found does, or one of these. */
XP_NOINLINE int xp_scan_batch(u32 number)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return XP_SCAN_NONE;
    s->seek.at = ((s->sp + 7) & ~7ull) + 8ull * XP_SCAN_BATCH * number;
    for (u32 i = 0; i < XP_SCAN_BATCH; i++, s->seek.at += 8) {
        s->seek.word = xp_scan_word(s, s->seek.at);
        if (s->seek.word == ~0ull)
            return XP_SCAN_NONE;
        if (s->seek.word && xp_scan_believes(s))
            return xp_scan_found(s);
    }
    return s->walks > XP_SCAN_WALKS ? XP_SCAN_NONE : XP_SCAN_ON;
}

/* Steps to the caller of generated code that could not be unwound, and was noted as a loop is. Returns 0 or XP_LOOP; 1:
 * it was not found, and the cause is what it was. Calls are nested deep in what this calls. */
XP_INLINE int xp_scan(void)
{
    int outcome = XP_SCAN_ON;
    for (u32 i = 0; i < XP_SCAN_WORDS / XP_SCAN_BATCH && outcome == XP_SCAN_ON; i++)
        outcome = xp_scan_batch(i);
    return outcome == XP_SCAN_NONE ? 1 : outcome;
}

/* Finds the next return address on a stack where no rule tells it. Returns 0; 1: stopped. */
XP_INLINE int xp_find(u32 unused)
{
    struct xp_state *s = xp_state_get();
    return !s ? 1 : XP_HAS_FRAMES_OF(s, XP_LANGUAGE_BEAM) ? xp_beam_step(unused) : xp_scan();
}
