/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Frames of PHP: the calls in a list from executor_globals on, innermost first (Zend/zend_compile.h, zend_execute.h).
 * Included by script.bpf.h, whose functions it uses.
 */
#pragma once

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
    u64 at = s->sc.opline, first, saved = xp_py64(s, p->call_opline);
    u32 n;
    s->sc.opline = 0;
    if (!at || xp_read_user(&first, 8, function + p->function_ops) || xp_read_user(&n, 4, function + p->function_nops))
        return saved;
    return at - first < (u64)n * p->op_bytes ? at : saved;
}

/* Out of line, so that it is verified once. */
XP_NOINLINE int xp_note_code(u64 file, u32 position)
{
    struct xp_state *s = xp_state_get();
    u64 length, tail[3] = {};
    u32 cookie = 0;
    if (!s)
        return XP_PY_LOST;
    if (!xp_read_user(&length, 8, file + XP_PHP_LENGTH) &&
        (length < XP_PHP_TAIL || !xp_read_user(tail, XP_PHP_TAIL, file + XP_PHP_TEXT - XP_PHP_TAIL + length)))
        cookie = XP_SCRIPT_COOKIE(length, tail[0], tail[1], tail[2]);
    return xp_push_frame(s, file | XP_PHP_CODE, cookie, position);
}

XP_INLINE int xp_note_php(struct xp_state *s, u64 function, u32 info)
{
    const struct xp_php *p = &s->script.php;
    u64 *w = s->noted, *file = w + 3, *text = w + 5;
    u32 line = 0;
    u8 type = 0;
    if (xp_read_user(&type, 1, function + p->function_type) || xp_read_user(w, 24, function + p->function_words))
        return xp_push_frame(s, function, 0, 0);
    if (type == XP_PHP_INTERNAL) /* without a name, it is the engine's own */
        return w[0] ? xp_push_frame(s, function, XP_SCRIPT_COOKIE(w[0], w[1], w[2], 0), 0) : XP_PY_ON;
    u64 op = xp_php_opline(s, function);
    text[0] = text[1] = 0;
    if (xp_read_user(file, 16, function + p->function_file))
        file[0] = file[1] = 0;
    else if (xp_read_user(&line, 4, op + p->op_line))
        line = 0;
    u32 top = info & XP_PHP_TOP ? XP_PHP_MAIN : 0, position = (line & ~XP_PHP_MAIN) | top;
    u32 known = !w[0] || !xp_read_user(text, 16, w[0] + XP_PHP_LENGTH);
    u32 cookie = XP_SCRIPT_COOKIE(XP_PHP_NAME(w[0], text), w[1], w[2], XP_PHP_FILE(file[0], file[1]));
    int end = w[0] ? xp_push_frame(s, function, known ? cookie : 0, position) : xp_note_code(file[0], position);
    return end ? end : top ? XP_PY_DONE : XP_PY_ON;
}

/* A frame without function is one that copies another, or where generators wait for the one that runs to which they
 * delegate (yield from): from that one to the outermost. */
XP_INLINE int xp_php_waiting(struct xp_state *s)
{
    const struct xp_php *p = &s->script.php;
    u64 generator = s->sc.info, before = xp_py64(s, p->call_prev), call;
    u32 children = 0;
    s->sc.info = 0;
    if (!generator || !p->generator_child || xp_read_user(&children, 4, generator + p->generator_children) ||
        children != 1 || xp_read_user(&generator, 8, generator + p->generator_child) ||
        xp_read_user(&call, 8, generator + p->generator_call) || xp_frame_see(s, call, XP_CALLERS_BELOW)) {
        s->py.frame = before;
        return XP_PY_ON;
    }
    s->sc.info = generator;
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
    if (!s || !xp_has_language(s, XP_LANGUAGE_PHP) || !s->script.php.loop)
        return 1;
    if (s->leaf && (s->leaf != XP_LEAF_REGS || xp_read_user(&frame, 8, s->script.root + s->script.php.frame) ||
                    s->regs.r[14] != frame))
        return 1;
    s->ip = s->script.root + (s64)s->script.php.loop + !s->leaf;
    return 0;
}
