/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Reads the user stack through a window: copying 2 KiB costs the same as copying 8 bytes, and one copy serves many
 * frames.
 */
#pragma once

/* Moves the window to start at `at`, which is aligned. If 2 KiB cannot be read (top of the stack), it extends to the
 * end of the page. */
XP_NOINLINE int xp_window_fill(u64 at)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    s->refills++;
    s->window_at = at;
    s->window_words = XP_WINDOW / 8;
    if (!xp_read_stack(s->window, XP_WINDOW, at))
        return 0;
    u64 len = 4096 - (at & 4095);
    if (len > XP_WINDOW)
        len = XP_WINDOW;
    s->window_words = len / 8;
    if (!xp_read_stack(s->window, len, at))
        return 0;
    s->window_words = 0;
    return 1;
}

/* Loads the word at `at` into s->loaded if it is not in the window. Out of line, so that it is verified once. */
XP_NOINLINE int xp_load_slow(u64 at)
{
    struct xp_state *s = xp_state_get();
    if (!s)
        return 1;
    if (at & 7)
        return xp_read_stack(&s->loaded, 8, at);
    if (xp_window_fill(at))
        return 1;
    s->loaded = s->window[0];
    return 0;
}

/* Loads the stack word at `at`. Callers load the words of a frame in ascending order, because a refill starts at the
 * missing word. */
XP_INLINE int xp_load(struct xp_state *s, u64 at, u64 *out)
{
    u64 d = at - s->window_at, word = d >> 3 | d << 61; /* one that is not aligned is far away */
    if (word >= s->window_words) { /* one condition: each doubles what the verifier has to follow */
        if (xp_load_slow(at))
            return 1;
        *out = s->loaded;
        return 0;
    }
    /* clang must not know the range of it: it would fold the mask into "d & -8", whose bounds the verifier of 6.12
     * loses. */
    asm volatile("" : "+r"(word));
    *out = s->window[word & (XP_WINDOW / 8 - 1)];
    return 0;
}
