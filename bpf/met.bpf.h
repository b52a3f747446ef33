/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Remembers frames of runtimes, so that user space is woken up for those that are to be named, and for no others. Each
 * place has the two that came last: if two frames of a loop took it from each other, they would be news all the time.
 */
#pragma once

/* Returns whether it is one of these. */
XP_INLINE int xp_meet_frame(struct xp_state *s, u64 word, u64 more)
{
    u64 hash = (word ^ more << 7 ^ s->sample.tgid) * 0x9e3779b97f4a7c15ull;
    u32 *met = &s->met[(hash >> 52) & (XP_RUNTIME_MET - 2)], last = met[0];
    if (last == (u32)hash)
        return 0;
    int news = met[1] != (u32)hash;
    met[0] = (u32)hash;
    met[1] = last;
    if (news)
        s->runtime |= XP_RUNTIME_NEWS;
    return news;
}
