/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Puts frames of Ruby, PHP and Perl in place of those of the loops that interpret them, and for those and Python
 * (python.bpf.h), what is left when a stack has ended. Each thread has one list of frames, innermost first; a call of
 * the loop has those up to one that says that it is the last (bpf/script.h). Callers push a frame before they call the
 * loop, and a sample may be taken in between: then frames are left when the stack has ended. They are callers of the
 * last ones that were found.
 *
 * Sources: Ruby's vm_core.h and vm_insnhelper.c; PHP's Zend/zend_compile.h and zend_execute.h; Perl's cop.h, cv.h and
 * pp_hot.c. All of this is memory of the process, so it is not trusted.
 */
#pragma once

#define XP_SCRIPT_WORDS   4                   /* of a cookie */
#define XP_SCRIPT_FRAMES  2048                /* of one call of the loop; all that a stack has room for */
#define XP_SCRIPT_RUNS    8                   /* calls of the loop that are left when a stack has ended */
#define XP_SCRIPT_CALLERS (XP_BLOB_BYTES / 8) /* of frames of a script: native ones that a stack may end with */

XP_INLINE int xp_script_is_on(const struct xp_state *s)
{
    return (s->runtime & (XP_SCRIPT_KNOWN | XP_SCRIPT_OVER)) == XP_SCRIPT_KNOWN;
}

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

/* Whether the process of generated code has such a runtime, which is in s->script then. */
XP_INLINE int xp_has_script(struct xp_state *s)
{
    if (s->runtime & (XP_V8_KNOWN | XP_PYTHON_KNOWN | XP_NO_SCRIPT))
        return 0;
    if (!(s->runtime & XP_SCRIPT_KNOWN) && !xp_script_take(s))
        s->runtime |= XP_NO_SCRIPT;
    return !(s->runtime & XP_NO_SCRIPT);
}

XP_INLINE int xp_push_frame(struct xp_state *s, u64 address, u32 cookie, u32 position)
{
    u64 word = XP_SCRIPT_WORD(s->script.language, address);
    return xp_push_script(s, word, XP_MORE_WORD(cookie, position)) ? XP_PY_FULL : XP_PY_ON;
}

#include "bpf/ruby.bpf.h"

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
    if (!s || !xp_has_script(s) || s->script.language != XP_LANGUAGE_PHP || !s->script.php.loop)
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

/* ---- All of them ------------------------------------------------------------------------------------------------ */

XP_NOINLINE int xp_script_next(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    if (!s)
        return XP_PY_LOST;
    return s->script.language == XP_LANGUAGE_RUBY  ? xp_ruby_next(s)
           : s->script.language == XP_LANGUAGE_PHP ? xp_php_next(s)
                                                   : xp_perl_next(s);
}

/* The frames of one call of the loop. Returns 0; 1: there are no more. */
XP_NOINLINE int xp_script_run(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    int end = XP_PY_ON;
    if (!s)
        return 1;
    for (u32 i = 0; i < XP_SCRIPT_FRAMES && !end; i++)
        end = xp_script_next(i);
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

XP_INLINE u64 *xp_user_word(struct xp_state *s, u64 n)
{
    u64 at = s->sample.nkernel + n;
    asm volatile("" : "+r"(at));
    return at < XP_MAX_KERNEL + XP_MAX_USER ? s->words + at : NULL;
}

/* Words from `from` on, to `kept`, or back. */
XP_INLINE void xp_keep_words(struct xp_state *s, u64 from, u64 n, int back)
{
    u64 *kept = (u64 *)s->blob;
    for (u32 i = 0; i < XP_SCRIPT_CALLERS; i++) {
        u64 *word = i < n ? xp_user_word(s, from + i) : NULL;
        if (!word)
            break;
        if (back)
            *word = kept[i];
        else
            kept[i] = *word;
    }
}

/* The stack has ended: frames that are left are callers of the last ones. */
XP_NOINLINE int xp_script_rest(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    if (!s || s->sample.nuser >= XP_MAX_USER || s->sample.nuser - s->sc.after > XP_SCRIPT_CALLERS)
        return 0;
    u64 n = s->sample.nuser - s->sc.after;
    xp_keep_words(s, s->sc.after, n, 0);
    s->sample.nuser = s->sc.after;
    if (s->runtime & XP_PYTHON_KNOWN)
        xp_python_rest(s);
    for (u32 i = 0; i < XP_SCRIPT_RUNS && xp_script_is_on(s); i++)
        xp_script_run(i);
    u64 room = XP_MAX_USER - s->sample.nuser;
    n = n < room ? n : room;
    xp_keep_words(s, s->sample.nuser, n, 1);
    s->sample.nuser += n;
    return 0;
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
        xp_python_splice(s, s->sp);
    else if (s->sc.language == XP_LANGUAGE_PYTHON_CALLS) /* what calls these has the object on its stack */
        xp_python_splice(s, ~0ull);
    else
        xp_script_splice(s);
    s->sc.after = s->sample.nuser;
    if (s->sample.nuser == n - 1) {
        s->words[last] = own;
        s->sample.nuser = n;
    }
    return 0;
}
