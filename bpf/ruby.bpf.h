/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Frames of Ruby: the control frames of a thread's execution context, innermost first (vm_core.h). Included by
 * script.bpf.h, whose functions it uses.
 */
#pragma once

XP_INLINE int xp_ruby_begin(struct xp_state *s, u64 base)
{
    const struct xp_ruby *p = &s->script.ruby;
    u64 stack, words;
    if (xp_read_user(&stack, 8, base + p->stack) || xp_read_user(&words, 8, base + p->stack_size) ||
        xp_read_user(&s->py.frame, 8, base + p->frame))
        return 1;
    s->sc.left = stack + 8 * words;
    s->py.bytes = p->frame_bytes;
    return 0;
}

/* The method that code belongs to, by the environment of its frame: that of a block leads to the one around it. Those
 * of text that is evaluated lead to methods whose code does not have it. Returns the method entry; 0: none. */
XP_NOINLINE u64 xp_ruby_method(u64 entry, u64 block, u64 flags)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 0;
    u64 *env = (u64 *)s->object; /* not on the stack: calls are nested deep here */
    for (u32 i = 0; i < XP_RUBY_BLOCKS && !(flags & XP_RUBY_LOCAL); i++) {
        u64 magic = flags & XP_RUBY_MAGIC;
        if ((magic != XP_RUBY_BLOCK && magic != XP_RUBY_RESCUE) || xp_read_user(env, 24, (block & ~3ull) - 16))
            return 0;
        entry = env[0];
        block = env[1];
        flags = env[2];
    }
    if ((flags & (XP_RUBY_MAGIC | XP_RUBY_LOCAL)) != (XP_RUBY_METHOD | XP_RUBY_LOCAL) || xp_read_user(env, 16, entry))
        return 0;
    if ((env[0] & XP_RUBY_IMEMO) == XP_RUBY_SVAR) { /* it is in between once the method uses $~ or $_ */
        entry = env[1];
        if (xp_read_user(env, 8, entry))
            return 0;
    }
    return (env[0] & XP_RUBY_IMEMO) == XP_RUBY_ENTRY ? entry : 0;
}

XP_INLINE int xp_note_iseq(struct xp_state *s, u64 iseq, u64 pc, u64 method)
{
    const struct xp_ruby *p = &s->script.ruby;
    u64 body, code, *w = s->noted;
    if (xp_read_user(&body, 8, iseq + p->iseq_body) || xp_read_user(&code, 8, body + p->body_code) ||
        xp_read_user(w, 24, body + p->body_words))
        return xp_push_frame(s, iseq, 0, 0);
    return xp_push_frame(s, method ? method : iseq, XP_SCRIPT_COOKIE(code, w[0], w[1], w[2]), (u32)(pc - code));
}

XP_INLINE int xp_note_cfunc(struct xp_state *s, u64 entry)
{
    u64 *w = s->noted;
    u32 cookie = 0;
    if (!xp_read_user(w, 24, entry + s->script.ruby.entry_words))
        cookie = XP_SCRIPT_COOKIE(0, w[0], w[1], w[2]);
    return xp_push_frame(s, entry, cookie, XP_RUBY_NATIVE);
}

XP_INLINE int xp_ruby_next(struct xp_state *s)
{
    const struct xp_ruby *p = &s->script.ruby;
    u64 frame = s->py.frame, *env = s->noted + 3; /* method entry, block, flags */
    int end = XP_PY_ON;
    if (frame >= s->sc.left)
        return XP_PY_LOST;
    if (xp_frame_see(s, frame, XP_CALLERS_ABOVE))
        return XP_PY_LOST;
    u64 pc = xp_py64(s, p->frame_pc), iseq = xp_py64(s, p->frame_iseq);
    if (xp_read_user(env, 24, xp_py64(s, p->frame_ep) - 16))
        return XP_PY_LOST;
    s->py.frame = frame + p->frame_bytes;
    u64 magic = env[2] & XP_RUBY_MAGIC;
    if (iseq && pc && magic != XP_RUBY_DUMMY) /* without pc, it is a function in C in the place of a block */
        end = xp_note_iseq(s, iseq, pc, xp_ruby_method(env[0], env[1], env[2]));
    else if (magic == XP_RUBY_CFUNC && env[0])
        end = xp_note_cfunc(s, env[0]);
    return end ? end : env[2] & XP_RUBY_FINISH ? XP_PY_DONE : XP_PY_ON;
}
