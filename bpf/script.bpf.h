/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Puts frames of Ruby, PHP and Perl in place of those of the loops that interpret them, and for those and Python
 * (python.bpf.h), what is left when a stack has ended. Each thread has one list of frames, innermost first; a call of
 * the loop has those up to one that says that it is the last (bpf/script.h). Callers push a frame before they call the
 * loop, and a sample may be taken in between: then frames are left when the stack has ended. They are callers of the
 * last ones that were found.
 *
 * All of this is memory of the process, so it is not trusted.
 */
#pragma once

#define XP_SCRIPT_WORDS   4                   /* of a cookie */
#define XP_SCRIPT_BATCH   32                  /* frames of a verified function */
#define XP_SCRIPT_BATCHES 64                  /* of one call of the loop; all that a stack has room for */
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

/* Whether the process of generated code has the runtime of this language, which is in s->script then. */
XP_INLINE int xp_has_language(struct xp_state *s, u32 language)
{
    if (s->runtime & (XP_V8_KNOWN | XP_PYTHON_KNOWN | XP_NO_SCRIPT))
        return 0;
    if (!(s->runtime & (XP_SCRIPT_KNOWN | XP_HAS_SCRIPT)))
        s->runtime |= xp_script_take(s) ? XP_HAS_SCRIPT : XP_NO_SCRIPT;
    return !(s->runtime & XP_NO_SCRIPT) && s->script.language == language;
}

XP_INLINE int xp_push_frame(struct xp_state *s, u64 address, u32 cookie, u32 position)
{
    u64 word = XP_SCRIPT_WORD(s->script.language, address);
    return xp_push_script(s, word, XP_MORE_WORD(cookie, position)) ? XP_PY_FULL : XP_PY_ON;
}

/* The frame that was noted last is one of generated code: gets the words of a frame of s->script. Out of line, so that
 * it is verified once. */
XP_NOINLINE int xp_put_address(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    if (!s || !s->sample.nuser)
        return 0;
    s->sample.nuser--;
    s->py.exact = s->leaf ? XP_WORD_EXACT : 0;
    if (xp_push_frame(s, s->ip, 0, 0))
        s->sample.nuser++;
    s->py.exact = 0;
    return 0;
}

#include "bpf/ruby.bpf.h"
#include "bpf/php.bpf.h"
#include "bpf/perl.bpf.h"
#include "bpf/dotnet.bpf.h"
#include "bpf/beam.bpf.h"

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

/* Some frames of one call of the loop. Returns 0; 1: there are no more of it. */
XP_NOINLINE int xp_script_run(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    int end = XP_PY_ON;
    if (!s)
        return 1;
    for (u32 i = 0; i < XP_SCRIPT_BATCH && !end; i++)
        end = xp_script_next(i);
    return end > XP_PY_DONE ? xp_script_over(s) : end;
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
    int end = s->script.language != s->sc.language;
    for (u32 i = 0; i < XP_SCRIPT_BATCHES && !end; i++)
        end = xp_script_run(i);
    if (!end)
        xp_script_over(s);
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
    for (u32 i = 0; i < XP_SCRIPT_BATCHES + XP_SCRIPT_RUNS && xp_script_is_on(s); i++)
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
