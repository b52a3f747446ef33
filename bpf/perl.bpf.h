/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Frames of Perl: the contexts of its stackinfos, innermost first (cop.h, cv.h, pp_hot.c). Included by script.bpf.h,
 * whose functions it uses.
 */
#pragma once

XP_INLINE int xp_perl_info(struct xp_state *s, u64 info)
{
    const struct xp_perl *p = &s->script.perl;
    u64 contexts;
    s32 last;
    s->sc.info = info;
    s->sc.type = 0;
    if (xp_read_user(&contexts, 8, info + p->info_contexts) || xp_read_user(&last, 4, info + p->info_index))
        return 1;
    s->sc.left = last < 0 ? 0 : last + 1u;
    s->py.frame = contexts + (s64)last * p->context_bytes;
    return 0;
}

XP_INLINE int xp_perl_begin(struct xp_state *s, u64 base)
{
    const struct xp_perl *p = &s->script.perl;
    u64 info;
    s->py.bytes = p->context_bytes;
    return xp_read_user(&info, 8, base + p->stackinfo) || xp_read_user(&s->sc.cop, 8, base + p->cop) ||
           xp_read_user(&s->sc.main, 8, base + p->main) || xp_perl_info(s, info);
}

/* A COP that was optimised away (the first one of code in a pattern) has 0 for its type, and op_targ says what it was.
 */
XP_INLINE u32 xp_perl_position(struct xp_state *s, u64 cv)
{
    u64 *words = s->noted + XP_PERL_WORDS;
    s64 distance = (s64)(s->sc.cop - cv) >> 3;
    if (xp_read_user(words, 16, s->sc.cop + s->script.perl.cop_words))
        return 0;
    int is_own = words[0] || (words[1] & 511);
    return is_own && (u64)(distance + (1 << 30)) < 1ull << 31 ? XP_PERL_AT(distance) : XP_PERL_LINE(words[1] >> 32);
}

XP_INLINE int xp_note_perl(struct xp_state *s, u64 cv)
{
    const struct xp_perl *p = &s->script.perl;
    u64 body, *w = s->noted;
    u32 id, cookie = 0;
    if (!xp_read_user(&body, 8, cv + p->cv_body) && !xp_read_user(w, 8 * XP_PERL_WORDS, body + p->body_words) &&
        !xp_read_user(&id, 4, w[XP_PERL_WORDS - 1] + p->pad_id))
        cookie = XP_PERL_COOKIE(w, id);
    return xp_push_frame(s, cv, cookie, xp_perl_position(s, cv));
}

/* There is no frame of the program itself. It begins with a block; what else begins was called by C: what runs while it
 * is compiled or destroyed, threads, programs with a Perl in them. */
XP_INLINE int xp_perl_last(struct xp_state *s)
{
    u64 cv = s->sc.type == XP_PERL_BLOCK ? s->sc.main : 0;
    s->sc.main = 0;
    int end = cv ? xp_note_perl(s, cv) : XP_PY_LOST;
    return end ? end : XP_PY_LOST;
}

XP_INLINE int xp_perl_frame(struct xp_state *s, u32 type)
{
    const struct xp_perl *p = &s->script.perl;
    u32 sub = p->subs >> (type & 15) & 1, fake = sub && type & XP_PERL_FAKE;
    int end = XP_PY_ON;
    if (!sub && !(p->evals >> (type & 15) & 1))
        return (type & 15) == XP_PERL_NULL ? XP_PY_DONE : XP_PY_ON;
    u64 cv = xp_py64(s, sub ? p->context_sub : p->context_eval);
    if (cv && !fake) {
        end = xp_note_perl(s, cv);
        s->sc.cop = xp_py64(s, p->context_cop);
    }
    return end ? end : sub && !xp_py64(s, p->context_sub_return) ? XP_PY_DONE : XP_PY_ON;
}

XP_INLINE int xp_perl_next(struct xp_state *s)
{
    const struct xp_perl *p = &s->script.perl;
    u64 info;
    if (!s->sc.left) {
        if (xp_read_user(&info, 8, s->sc.info + p->info_prev))
            return XP_PY_LOST;
        return !info ? xp_perl_last(s) : xp_perl_info(s, info) ? XP_PY_LOST : XP_PY_ON;
    }
    if (xp_frame_see(s, s->py.frame, XP_CALLERS_BELOW))
        return XP_PY_LOST;
    s->py.frame -= p->context_bytes;
    s->sc.left--;
    u32 type = xp_py8(s, 0);
    s->sc.type = type & 15;
    return xp_perl_frame(s, type);
}
