/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Puts frames of Ruby, PHP and Perl in place of those of the loops that interpret them. Each thread has one list of
 * frames, innermost first; a call of the loop has those up to one that says that it is the last (bpf/script.h). Callers
 * push a frame before they call the loop, and a sample may be taken in between: then frames are left when the stack has
 * ended. They follow it, and user space puts them where they belong (agent/profile/script_words.h).
 *
 * Sources: Ruby's vm_core.h and vm_insnhelper.c; PHP's Zend/zend_compile.h and zend_execute.h; Perl's cop.h, cv.h and
 * pp_hot.c. All of this is memory of the process, so it is not trusted.
 */
#pragma once

#define XP_SCRIPT_WORDS 4 /* of a cookie */

XP_INLINE int xp_script_over(struct xp_state *s)
{
    s->runtime |= XP_SCRIPT_OVER;
    return 1;
}

XP_INLINE u32 xp_py32(const struct xp_state *s, u32 field)
{
    return *(const u32 *)((const u8 *)s->py_window + ((s->py.at + field) & (XP_PY_WINDOW - 4)));
}

/* Where the state of the thread, or of the runtime, begins. Returns 0; 1: it is not known. */
XP_INLINE int xp_script_state(struct xp_state *s, u64 *at)
{
    const struct xp_script *p = &s->script;
    u64 from = p->found == XP_ROOT_THREAD ? xp_tls_base(s) + p->tls : p->root;
    *at = from;
    if (p->found == XP_ROOT_AT)
        return 0;
    if (xp_read_user(at, 8, from))
        return 1;
    return p->found == XP_ROOT_THREAD && p->slot && xp_read_user(at, 8, *at + p->slot - 1);
}

XP_INLINE int xp_push_frame(struct xp_state *s, u64 address, u32 cookie, u32 position)
{
    u64 word = XP_SCRIPT_WORD(s->script.language, address);
    return xp_push_script(s, word, XP_MORE_WORD(cookie, position)) ? XP_PY_FULL : XP_PY_ON;
}

/* ---- Ruby ------------------------------------------------------------------------------------------------------- */

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

XP_INLINE int xp_note_iseq(struct xp_state *s, u64 iseq, u64 pc)
{
    const struct xp_ruby *p = &s->script.ruby;
    u64 body, code, w[3];
    if (xp_read_user(&body, 8, iseq + p->iseq_body) || xp_read_user(&code, 8, body + p->body_code) ||
        xp_read_user(w, sizeof(w), body + p->body_words))
        return xp_push_frame(s, iseq, 0, 0);
    return xp_push_frame(s, iseq, XP_SCRIPT_COOKIE(code, w[0], w[1], w[2]), (u32)(pc - code));
}

XP_INLINE int xp_note_cfunc(struct xp_state *s, u64 entry)
{
    u64 w[3];
    u32 cookie = 0;
    if (!xp_read_user(w, sizeof(w), entry + s->script.ruby.entry_words))
        cookie = XP_SCRIPT_COOKIE(0, w[0], w[1], w[2]);
    return xp_push_frame(s, entry, cookie, XP_RUBY_NATIVE);
}

XP_INLINE int xp_ruby_next(struct xp_state *s)
{
    const struct xp_ruby *p = &s->script.ruby;
    u64 frame = s->py.frame, env[3]; /* method entry, block, flags */
    int end = XP_PY_ON;
    if (frame >= s->sc.left)
        return XP_PY_LOST;
    if (xp_frame_see(s, frame, XP_CALLERS_ABOVE))
        return XP_PY_LOST;
    u64 pc = xp_py64(s, p->frame_pc), iseq = xp_py64(s, p->frame_iseq);
    if (xp_read_user(env, sizeof(env), xp_py64(s, p->frame_ep) - 16))
        return XP_PY_LOST;
    s->py.frame = frame + p->frame_bytes;
    if (iseq)
        end = xp_note_iseq(s, iseq, pc);
    else if ((env[2] & XP_RUBY_MAGIC) == XP_RUBY_CFUNC && env[0])
        end = xp_note_cfunc(s, env[0]);
    return end ? end : env[2] & XP_RUBY_FINISH ? XP_PY_DONE : XP_PY_ON;
}

/* ---- PHP -------------------------------------------------------------------------------------------------------- */

XP_INLINE int xp_php_begin(struct xp_state *s, u64 base)
{
    const struct xp_php *p = &s->script.php;
    u32 n = p->call_func > p->call_opline ? p->call_func : p->call_opline;
    n = p->call_info > n ? p->call_info : n;
    n = p->call_prev > n ? p->call_prev : n;
    n = p->call_result > n ? p->call_result : n;
    s->py.bytes = (n + 15) & ~7u;
    s->sc.info = 0;
    return xp_read_user(&s->py.frame, 8, base + p->frame);
}

/* The frame has its instruction as it was when something was called last. Where the loop keeps the current one in R15
 * (gcc builds: ZEND_VM_FP_GLOBAL_REG), it is one of the function's. */
XP_INLINE u64 xp_php_opline(struct xp_state *s, u64 function)
{
    const struct xp_php *p = &s->script.php;
    u64 at = s->sc.opline, saved = xp_py64(s, p->call_opline), *ops = s->sc.words + 7;
    s->sc.opline = 0;
    if (!at || xp_read_user(ops, 8, function + p->function_ops))
        return saved;
    at -= *ops;
    *ops = 0;
    return !xp_read_user(ops, 4, function + p->function_nops) && at < *ops * p->op_bytes ? s->regs.r[15] : saved;
}

XP_INLINE int xp_note_code(struct xp_state *s, u64 file, u32 position)
{
    u32 cookie = 0;
    u64 *tail = s->sc.words, *length = tail + 3;
    tail[0] = tail[1] = tail[2] = 0;
    if (!xp_read_user(length, 8, file + XP_PHP_LENGTH) &&
        (*length < XP_PHP_TAIL || !xp_read_user(tail, XP_PHP_TAIL, file + XP_PHP_TEXT - XP_PHP_TAIL + *length)))
        cookie = XP_SCRIPT_COOKIE(*length, tail[0], tail[1], tail[2]);
    return xp_push_frame(s, file | XP_PHP_CODE, cookie, position);
}

XP_INLINE int xp_note_php(struct xp_state *s, u64 function, u32 info)
{
    const struct xp_php *p = &s->script.php;
    u64 *w = s->sc.words, *file = w + 3, *text = w + 5, *one = w + 7;
    file[0] = file[1] = text[0] = text[1] = *one = 0;
    if (xp_read_user(one, 1, function + p->function_type) || xp_read_user(w, 24, function + p->function_words))
        return xp_push_frame(s, function, 0, 0);
    if (*one == XP_PHP_INTERNAL) /* without a name, it is the engine's own */
        return w[0] ? xp_push_frame(s, function, XP_SCRIPT_COOKIE(w[0], w[1], w[2], 0), 0) : XP_PY_ON;
    u64 op = xp_php_opline(s, function);
    *one = 0;
    if (xp_read_user(file, 16, function + p->function_file) || xp_read_user(one, 4, op + p->op_line))
        *one = 0;
    u32 top = info & XP_PHP_TOP ? XP_PHP_MAIN : 0, position = ((u32)*one & ~XP_PHP_MAIN) | top;
    u32 known = !w[0] || !xp_read_user(text, 16, w[0] + XP_PHP_LENGTH);
    u32 cookie = XP_SCRIPT_COOKIE(XP_PHP_NAME(w[0], text), w[1], w[2], XP_PHP_FILE(file[0], file[1]));
    int end = w[0] ? xp_push_frame(s, function, known ? cookie : 0, position) : xp_note_code(s, file[0], position);
    return end ? end : top ? XP_PY_DONE : XP_PY_ON;
}

/* A frame without function is one that copies another, or where generators wait for the one that runs to which they
 * delegate (yield from): from that one to the outermost. */
XP_INLINE int xp_php_waiting(struct xp_state *s)
{
    const struct xp_php *p = &s->script.php;
    u64 generator = s->sc.info, before = xp_py64(s, p->call_prev), *w = s->sc.words;
    s->sc.info = w[0] = 0;
    if (!generator || !p->generator_child || xp_read_user(w, 4, generator + p->generator_children) || w[0] != 1 ||
        xp_read_user(w + 1, 8, generator + p->generator_child) || xp_read_user(w + 2, 8, w[1] + p->generator_call) ||
        xp_frame_see(s, w[2], XP_CALLERS_BELOW)) {
        s->py.frame = before;
        return XP_PY_ON;
    }
    s->sc.info = w[1];
    u64 function = xp_py64(s, p->call_func);
    return function ? xp_note_php(s, function, 0) : XP_PY_ON;
}

/* Functions that are implemented in C have no call of the loop, whoever called them. */
XP_INLINE int xp_php_next(struct xp_state *s)
{
    const struct xp_php *p = &s->script.php;
    if (!s->py.frame || xp_frame_see(s, s->py.frame, XP_CALLERS_BELOW))
        return XP_PY_LOST;
    u64 function = xp_py64(s, p->call_func);
    u32 info = xp_py32(s, p->call_info);
    if (!function)
        return xp_php_waiting(s);
    s->sc.info = info & XP_PHP_GENERATOR ? xp_py64(s, p->call_result) : 0;
    int end = xp_note_php(s, function, info);
    s->py.frame = xp_py64(s, p->call_prev);
    return end;
}

/* The current frame is in anonymous code. What opcache's JIT has made runs in the frame of the loop, which leaves room
 * for it (ZEND_VM_HYBRID_JIT_RED_ZONE_SIZE), so that it is unwound as if it were the loop's own. R14 has the frame of
 * PHP there, too (ZEND_VM_FP_GLOBAL_REG). Returns 1: it is other code. */
XP_NOINLINE int xp_php_generated(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    u64 frame;
    if (!s || !xp_script_take(s) || s->script.language != XP_LANGUAGE_PHP || !s->script.php.loop)
        return 1;
    if (s->leaf && (s->leaf != XP_LEAF_REGS || xp_read_user(&frame, 8, s->script.root + s->script.php.frame) ||
                    s->regs.r[14] != frame))
        return 1;
    s->ip = s->script.root + (s64)s->script.php.loop + !s->leaf;
    return 0;
}

/* ---- Perl ------------------------------------------------------------------------------------------------------- */

XP_INLINE int xp_perl_info(struct xp_state *s, u64 info)
{
    const struct xp_perl *p = &s->script.perl;
    u64 contexts;
    s32 last;
    s->sc.info = info;
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

XP_INLINE int xp_note_perl(struct xp_state *s, u64 cv)
{
    const struct xp_perl *p = &s->script.perl;
    u64 body, w[XP_SCRIPT_WORDS];
    u32 cookie = 0;
    s64 distance = (s64)(s->sc.cop - cv) >> 3;
    if (!xp_read_user(&body, 8, cv + p->cv_body) && !xp_read_user(w, sizeof(w), body + p->body_words))
        cookie = XP_SCRIPT_COOKIE(w[0], w[1], w[2], w[3]);
    return xp_push_frame(s, cv, cookie, distance == (s32)distance ? (u32)distance : 0);
}

/* There is no frame of the program itself. */
XP_INLINE int xp_perl_last(struct xp_state *s)
{
    u64 cv = s->sc.main;
    s->sc.main = 0;
    int end = cv ? xp_note_perl(s, cv) : XP_PY_LOST;
    return end ? end : XP_PY_LOST;
}

XP_INLINE int xp_perl_next(struct xp_state *s)
{
    const struct xp_perl *p = &s->script.perl;
    u64 info, cv = 0;
    if (!s->sc.left) {
        if (xp_read_user(&info, 8, s->sc.info + p->info_prev))
            return XP_PY_LOST;
        return !info ? xp_perl_last(s) : xp_perl_info(s, info) ? XP_PY_LOST : XP_PY_ON;
    }
    if (xp_frame_see(s, s->py.frame, XP_CALLERS_BELOW))
        return XP_PY_LOST;
    s->py.frame -= p->context_bytes;
    s->sc.left--;
    u32 type = xp_py8(s, 0) & 15, sub = p->subs >> type & 1, eval = p->evals >> type & 1;
    int end = XP_PY_ON;
    if (!sub && !eval)
        return end;
    cv = xp_py64(s, sub ? p->context_sub : p->context_eval);
    if (cv) {
        end = xp_note_perl(s, cv);
        s->sc.cop = xp_py64(s, p->context_cop);
    }
    return end ? end : sub && !xp_py64(s, p->context_sub_return) ? XP_PY_DONE : XP_PY_ON;
}

/* ---- All of them ------------------------------------------------------------------------------------------------ */

XP_NOINLINE int xp_script_batch(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    int end = XP_PY_ON;
    if (!s)
        return XP_PY_LOST;
    for (int i = 0; i < XP_PYTHON_BATCH && !end; i++)
        end = s->script.language == XP_LANGUAGE_RUBY  ? xp_ruby_next(s)
              : s->script.language == XP_LANGUAGE_PHP ? xp_php_next(s)
                                                      : xp_perl_next(s);
    return end;
}

/* The frames of one call of the loop. Returns 0; 1: there are no more. */
XP_NOINLINE int xp_script_run(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    int end = XP_PY_ON;
    if (!s)
        return 1;
    for (u32 i = 0; i < XP_PYTHON_CALLS && !end; i++)
        end = xp_script_batch(i);
    return end != XP_PY_DONE && xp_script_over(s);
}

/* Finds the innermost frame of the thread. Returns 0; 1: there is none. */
XP_NOINLINE int xp_script_begin(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    u64 base;
    if (!s)
        return 1;
    if (!xp_script_take(s)) {
        s->sample.flags |= XP_SAMPLE_RUNTIME;
        return xp_script_over(s);
    }
    s->runtime |= XP_SCRIPT_KNOWN;
    s->py.len = 0;
    if (s->script.language != s->sc.language || xp_script_state(s, &base))
        return xp_script_over(s);
    u32 language = s->script.language;
    return (language == XP_LANGUAGE_RUBY  ? xp_ruby_begin(s, base)
            : language == XP_LANGUAGE_PHP ? xp_php_begin(s, base)
                                          : xp_perl_begin(s, base)) &&
           xp_script_over(s);
}

/* A frame of a loop was unwound: has those of the script in its place. */
XP_INLINE void xp_script_splice(struct xp_state *s)
{
    if ((s->runtime & XP_SCRIPT_OVER) || (!(s->runtime & XP_SCRIPT_KNOWN) && xp_script_begin(0)))
        return;
    if (s->script.language == s->sc.language)
        xp_script_run(0);
}

/* The stack has ended: appends frames that are left. */
XP_INLINE void xp_script_rest(struct xp_state *s)
{
    for (u32 i = 0; i < XP_PYTHON_RUNS; i++)
        if (!(s->runtime & XP_SCRIPT_KNOWN) || s->runtime & XP_SCRIPT_OVER || xp_script_run(i))
            break;
}

/* Frames of interpreters in place of a loop's, which was unwound. Not called from where that was, because calls are
 * nested deep there. Returns 0. */
XP_NOINLINE int xp_loop_splice(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    if (!s)
        return 0;
    u64 last = s->py.last;
    asm volatile("" : "+r"(last));
    if (last >= XP_MAX_KERNEL + XP_MAX_USER)
        return 0;
    u64 own = s->words[last];
    u16 n = s->sample.nuser--;
    if (s->sc.language == XP_LANGUAGE_PYTHON)
        xp_python_splice(s);
    else
        xp_script_splice(s);
    if (s->sample.nuser == n - 1) {
        s->words[last] = own;
        s->sample.nuser = n;
    }
    return 0;
}
