/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Whether a sample wakes up user space, which polls the ring only twice per second: the process may end soon.
 */
#pragma once

/* Between two wake-ups because of generated code, and because of frames without name. */
#define XP_WAKE_NS 100000000ull
#define XP_NEWS_NS 20000000ull
#define XP_BEAM_NS 200000000ull /* of Erlang: to name them takes a walk along all modules, and they stay for long */

/* Generated code of which the process may have unwind information. */
XP_INLINE int xp_misses_code(const struct xp_state *s)
{
    return s->runtime & XP_SCANNED || s->cause == XP_CAUSE_FP_ANON || s->cause == XP_CAUSE_FP_ANON_END;
}

/* The code of a frame that is met for the first time may be freed at any time, and its name with it: it wakes up user
 * space. If it comes too soon after another one, the next sample does. Generated code that may have unwind information
 * in the memory of its process wakes it up now and then. */
XP_INLINE int xp_wakes_up(const struct xp_state *s)
{
    u64 since = s->sample.time - xp_woken; /* of all CPUs: it does not matter whose time stays */
    if (s->runtime & XP_RUNTIME_NEWS || s->sample.flags & XP_SAMPLE_RUNTIME)
        xp_owed = 1;
    u64 least = XP_HAS_FRAMES_OF(s, XP_LANGUAGE_BEAM) ? XP_BEAM_NS : XP_NEWS_NS;
    if (since <= least || (!xp_owed && !(xp_misses_code(s) && since > XP_WAKE_NS)))
        return 0;
    xp_woken = s->sample.time;
    xp_owed = 0;
    return 1;
}
