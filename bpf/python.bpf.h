/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Puts frames of Python in place of those of the loop that interprets them. They are a list in the memory of the
 * process, innermost first, which begins in the state of the thread. The state is found where the thread keeps it for
 * itself (pthread_getspecific), so that nothing depends on who holds the interpreter's lock. A call of the loop runs
 * one frame or more; which ones, bpf/python.h says. The loop may be interrupted before it has entered its first frame
 * into the list, or after it has taken it out: since 3.10 each call has an object on its own stack, and frames belong
 * to a call only if that object lies below the end of the call's own frame.
 *
 * Sources: CPython's Python/ceval.c, Include/cpython/pystate.h and Include/internal/pycore_frame.h
 * (pycore_interpframe.h since 3.14), Objects/codeobject.c. All of this is memory of the process, so it is not trusted.
 */
#pragma once

#define XP_PYTHON_SOME  2   /* frames per call of a verified function */
#define XP_PYTHON_BATCH 4   /* of these per call of another one */
#define XP_PYTHON_CALLS 256 /* of these */
#define XP_PYTHON_RUNS  4   /* calls of the loop for one that is seen, where others are not seen */
#define XP_PYTHON_REST  16  /* calls of the loop that are left when a stack has ended */

enum xp_py_end { XP_PY_ON, XP_PY_DONE, XP_PY_FULL, XP_PY_LOST };

/* Fields of the frame at s->py.at of the window. */
XP_INLINE u64 xp_py64(const struct xp_state *s, u32 field)
{
    return *(const u64 *)((const u8 *)s->py_window + ((s->py.at + field) & (XP_PY_WINDOW - 8)));
}

XP_INLINE u8 xp_py8(const struct xp_state *s, u32 field)
{
    return ((const u8 *)s->py_window)[(s->py.at + field) & (XP_PY_WINDOW - 1)];
}

enum xp_callers {                   /* where the frames of callers mostly are: */
                  XP_CALLERS_FAR,   /* anywhere */
                  XP_CALLERS_BELOW, /* just below those of what they call */
                  XP_CALLERS_ABOVE,
};

/* Has a frame in the window, with memory where its callers may be, as far as it is in the same page. Returns 0; 1: it
 * cannot be read. */
XP_INLINE int xp_frame_see(struct xp_state *s, u64 frame, enum xp_callers callers)
{
    u64 bytes = s->py.bytes, end = frame + bytes, from = frame, len;
    if (frame - s->py.window >= s->py.len || end - s->py.window > s->py.len) {
        u64 page = frame & ~4095ull;
        if (callers == XP_CALLERS_BELOW)
            from = end - XP_PY_WINDOW > page ? end - XP_PY_WINDOW : page;
        if (callers == XP_CALLERS_ABOVE && end < page + 4096)
            end = frame + XP_PY_WINDOW < page + 4096 ? frame + XP_PY_WINDOW : page + 4096;
        len = end - from;
        s->py.window = from;
        s->py.len = 0;
        asm volatile("" : "+r"(len)); /* the verifier follows what is compared */
        if ((frame & 7) || len > XP_PY_WINDOW || xp_read_user(s->py_window, len, from))
            return 1;
        s->py.len = len;
    }
    s->py.at = frame - s->py.window;
    return 0;
}

XP_INLINE int xp_python_over(struct xp_state *s)
{
    s->runtime |= XP_PYTHON_OVER;
    return 1;
}

/* How much of a frame is read: no more than there is, for it may be at the end of a page. */
XP_INLINE u32 xp_python_bytes(const struct xp_python *p)
{
    u32 n = p->frame_code > p->frame_back ? p->frame_code : p->frame_back;
    n = p->frame_position > n ? p->frame_position : n;
    n = p->frame_owner > n + 7 ? p->frame_owner - 7u : n;
    return (n + 15) & ~7u;
}

/* Finds the innermost frame of the thread. Returns 0; 1: there is none. Out of line, because what calls it has little
 * stack left. */
XP_NOINLINE int xp_python_begin(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    const struct xp_python *p = &s->python;
    u64 base = xp_tls_base(s), at = 0, thread = 0;
    if (!xp_python_take(s)) {
        s->sample.flags |= XP_SAMPLE_RUNTIME;
        return xp_python_over(s);
    }
    s->runtime |= XP_PYTHON_KNOWN;
    s->py.frame = s->py.cframe = 0;
    s->py.bytes = xp_python_bytes(p);
    s->py.len = s->py.file = 0;
    if (xp_read_user(&at, 8, base + p->tls) || (p->slot && xp_read_user(&at, 8, at + p->slot - 1)) ||
        xp_read_user(&thread, 8, at + p->state_thread) || thread != base)
        return xp_python_over(s);
    if ((p->state_cframe && xp_read_user(&s->py.cframe, 8, at + p->state_cframe)) ||
        xp_read_user(&s->py.frame, 8, p->state_frame ? at + p->state_frame : s->py.cframe + p->cframe_frame))
        return xp_python_over(s);
    return 0;
}

XP_INLINE int xp_push_script(struct xp_state *s, u64 word, u64 more)
{
    if (s->sample.nuser >= XP_MAX_USER - 1 ||
        xp_put_frame(s, s->sample.nkernel + s->sample.nuser, word | s->py.exact, more))
        return 1;
    s->sample.nuser += 2;
    s->py.exact = 0;
    s->py.fresh = xp_meet_frame(s, word, more);
    return 0;
}

/* Where code objects have a version, it is read with the words behind it. */
XP_INLINE u32 xp_python_version_cookie(struct xp_state *s, u64 code)
{
    u64 w[7];
    if (xp_read_user(w, sizeof(w), code + s->python.code_names - 24))
        return 0;
    return XP_PYTHON_COOKIE(w + 3, w[0] >> 32);
}

/* Reads the words that make the cookie. */
XP_INLINE int xp_python_words(const struct xp_python *p, u64 w[XP_PYTHON_NAMES], u64 code)
{
    return xp_read_user(w, p->names == 3 ? 24 : 32, code + p->code_names);
}

/* Else the end of the file's name is read, if it is another one than that of the frame before. */
XP_INLINE u32 xp_python_cookie(struct xp_state *s, u64 code)
{
    u64 w[XP_PYTHON_NAMES] = {}, head[3], tail[2];
    if (xp_python_words(&s->python, w, code))
        return 0;
    if (w[0] != s->py.file) {
        u64 text = w[0] + s->python.text;
        s->py.file = 0;
        if (xp_read_user(head, sizeof(head), text) || xp_read_user(tail, sizeof(tail), text + XP_PYTHON_TAIL(head)))
            return 0;
        s->py.file = w[0];
        s->py.mark = XP_PYTHON_MARK(tail);
    }
    return XP_PYTHON_COOKIE(w, s->py.mark);
}

/* A frame that was not met before: remembers its code if that may be gone soon. */
XP_INLINE void xp_keep_code(struct xp_state *s, u64 word, u64 more)
{
    u64 n = s->codes.n;
    u32 flags = XP_PYTHON_LASTS, at = s->python.code_flags;
    asm volatile("" : "+r"(n));
    if (n >= XP_CODES || !at || xp_read_user(&flags, sizeof(flags), XP_WORD_ADDR(word) + at) || flags & XP_PYTHON_LASTS)
        return;
    s->codes.at[n].word = word;
    s->codes.at[n].more = more;
    s->codes.n = n + 1;
}

/* The frame that is seen. */
XP_INLINE int xp_note_python(struct xp_state *s)
{
    const struct xp_python *p = &s->python;
    u64 code = xp_py64(s, p->frame_code) >> (p->tag_bits & 3) << (p->tag_bits & 3);
    u32 position = (u32)(xp_py64(s, p->frame_position) - code - p->code_start);
    if (!p->code_start)
        position = (u32)(xp_py64(s, p->frame_position & ~7u) >> 8 * (p->frame_position & 4));
    u32 cookie = p->text ? xp_python_cookie(s, code) : xp_python_version_cookie(s, code);
    u64 word = XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, code);
    if (xp_push_script(s, word, XP_MORE_WORD(cookie, position)))
        return XP_PY_FULL;
    if (s->py.fresh)
        xp_keep_code(s, word, XP_MORE_WORD(cookie, 0));
    return XP_PY_ON;
}

/* Takes the next frame. Returns enum xp_py_end. */
XP_INLINE int xp_python_next(struct xp_state *s)
{
    const struct xp_python *p = &s->python;
    u64 frame = s->py.frame;
    if (!frame)
        return XP_PY_DONE;
    if (xp_frame_see(s, frame, p->shape >= XP_PYTHON_ENTRY ? XP_CALLERS_BELOW : XP_CALLERS_FAR))
        return XP_PY_LOST;
    u32 owner = xp_py8(s, p->frame_owner);
    s->py.frame = xp_py64(s, p->frame_back);
    if (p->shape == XP_PYTHON_SHIM && owner >= p->shim) {
        s->py.call = frame;
        return XP_PY_DONE;
    }
    int end = xp_note_python(s);
    return end || p->shape == XP_PYTHON_SHIM || (p->shape == XP_PYTHON_ENTRY && !owner) ? end : XP_PY_DONE;
}

XP_NOINLINE int xp_python_some(u32 unused)
{
    asm volatile("" ::"r"(unused));
    struct xp_state *s = xp_state_get();
    int end = XP_PY_ON;
    if (!s)
        return XP_PY_LOST;
    for (int i = 0; i < XP_PYTHON_SOME && !end; i++)
        end = xp_python_next(s);
    return end;
}

XP_NOINLINE int xp_python_batch(u32 unused)
{
    asm volatile("" ::"r"(unused));
    int end = XP_PY_ON;
    for (u32 i = 0; i < XP_PYTHON_BATCH && !end; i++)
        end = xp_python_some(i);
    return end;
}

/* Goes to the frames of the next call where the calls' objects tell which they are. Returns 0; 1: they belong to a call
 * whose frame begins at `cfa`, or beyond. */
XP_INLINE int xp_python_call(struct xp_state *s, u64 cfa)
{
    const struct xp_python *p = &s->python;
    s->py.call = ~0ull;
    if (p->shape != XP_PYTHON_CFRAME && p->shape != XP_PYTHON_ENTRY)
        return 0;
    if (s->py.cframe >= cfa)
        return 1;
    s->py.call = s->py.cframe;
    if (p->shape == XP_PYTHON_ENTRY && xp_read_user(&s->py.frame, 8, s->py.cframe + p->cframe_frame))
        return xp_python_over(s);
    if (xp_read_user(&s->py.cframe, 8, s->py.cframe + p->cframe_back))
        return xp_python_over(s);
    return 0;
}

/* The frames of one call of the loop. Returns 0: of one whose object lies below `low`; 1: there are no more for this
 * frame. */
XP_NOINLINE int xp_python_run(u64 low, u64 cfa)
{
    struct xp_state *s = xp_state_get();
    int end = XP_PY_ON;
    if (!s || xp_python_call(s, cfa))
        return 1;
    u64 frame = s->py.frame, exact = s->py.exact;
    u16 n = s->sample.nuser;
    for (u32 i = 0; i < XP_PYTHON_CALLS && !end; i++)
        end = xp_python_batch(i);
    if (s->python.shape == XP_PYTHON_SHIM && end == XP_PY_DONE && s->py.call >= cfa) {
        s->sample.nuser = n;
        s->py.frame = frame;
        return 1;
    }
    if (end != XP_PY_DONE)
        xp_python_over(s);
    if (end != XP_PY_DONE && exact && s->python.state_cframe) /* the object may not be filled in yet: 3.11, 3.12 */
        s->sample.nuser = n;
    return s->py.call >= low || end != XP_PY_DONE;
}

/* The frame of the loop is the current one, and is about to be unwound: its word is the last one. */
XP_INLINE void xp_loop_note(struct xp_state *s)
{
    s->sc.language = XP_TABLE_LANGUAGE(s->cur.file.flags);
    s->sc.opline = s->leaf == XP_LEAF_REGS ? s->regs.r[15] : 0;
    s->py.low = s->sp;
    s->py.exact = s->leaf ? XP_WORD_EXACT : 0;
    s->py.last = s->sample.nkernel + s->sample.nuser - 1u;
}

/* It was unwound: has the frames of Python in its place. `end`: where those of callers begin. */
XP_INLINE void xp_python_splice(struct xp_state *s, u64 end)
{
    if ((s->runtime & XP_PYTHON_OVER) || (!(s->runtime & XP_PYTHON_KNOWN) && xp_python_begin(0)))
        return;
    for (u32 i = 0; i < XP_PYTHON_RUNS; i++)
        if (xp_python_run(s->py.low, end))
            break;
}

XP_INLINE int xp_python_is_on(const struct xp_state *s)
{
    return (s->runtime & (XP_PYTHON_KNOWN | XP_PYTHON_OVER)) == XP_PYTHON_KNOWN && s->py.frame;
}

/* The stack has ended, and calls of the loop were not seen: appends their frames. */
XP_INLINE void xp_python_rest(struct xp_state *s)
{
    for (u32 i = 0; i < XP_PYTHON_REST && xp_python_is_on(s); i++)
        xp_python_run(~0ull, ~0ull);
}
