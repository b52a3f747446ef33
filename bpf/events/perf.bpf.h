/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Programs for events that perf counts (agent/events/events.c): one program per such event of the recording, because a
 * program cannot find out which perf event it was called for.
 */
#pragma once

XP_INLINE u64 xp_period(u32 event, u64 said)
{
    u64 period = xp_live.period[event];
    return period ? period : said;
}

#ifndef XP_PERF_EVENT /* the oracle for Go takes its samples elsewhere (e2e/go/signal.bpf.c) */
#define XP_PERF_EVENT(n)                                                    \
    SEC("perf_event")                                                       \
    int xp_event_##n(struct bpf_perf_event_data *ctx)                       \
    {                                                                       \
        u32 event = xp_config.perf_event[n] % XP_MAX_EVENTS;                \
        return xp_submit(ctx, event, xp_period(event, ctx->sample_period)); \
    }
#endif
XP_PERF_EVENT(0)
XP_PERF_EVENT(1)
XP_PERF_EVENT(2)
XP_PERF_EVENT(3)
XP_PERF_EVENT(4)
XP_PERF_EVENT(5)
XP_PERF_EVENT(6)
XP_PERF_EVENT(7)
