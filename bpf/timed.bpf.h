/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Calls that are timed, from their beginning to their end: what is remembered of one, and whether it counts. Conditions
 * on its arguments are judged when it begins, those on its result and on its time when it ends, so that only calls that
 * count cost a stack. Include bpf/conditions.bpf.h first.
 */
#pragma once

struct xp_timed { /* a call that has begun */
    u64 began;
    struct xp_tp_judged judged;
};

/* Map `timed_calls`: what is known of threads, as WHAT, by their task_struct, of MOST at once. It goes with them. */
#define XP_TIMED_BY_THREAD(most, what)            \
    struct {                                      \
        __uint(type, BPF_MAP_TYPE_HASH);          \
        __uint(max_entries, most);                \
        __type(key, u64);                         \
        __type(value, what);                      \
    } timed_calls SEC(".maps");                   \
    SEC("raw_tp/sched_process_exit")              \
    int xp_on_thread_end(void *ctx)               \
    {                                             \
        u64 task = bpf_get_current_task();        \
        (void)ctx;                                \
        bpf_map_delete_elem(&timed_calls, &task); \
        return 0;                                 \
    }

/* Whether a call may count, as far as is known when it begins. Its time begins at the end of this. */
XP_INLINE int xp_timed_begins(void *ctx, struct xp_timed *c)
{
    xp_tp_judge(xp_tp_record(ctx), ~xp_tp.late, 0, &c->judged);
    struct xp_tp_judged at_best = {.held = c->judged.held | xp_tp.late, .unknown = c->judged.unknown};
    int counts = xp_tp_decide(&at_best) && xp_tp_is_taken();
    c->began = bpf_ktime_get_ns();
    return counts;
}

/* Whether it counts. */
XP_INLINE int xp_timed_counts(void *ctx, struct xp_timed *c, u64 elapsed)
{
    xp_tp_judge(xp_tp_record(ctx), xp_tp.late, elapsed, &c->judged);
    return xp_tp_fulfils(c->judged.held); /* what is not known of it was counted when it began */
}

/* Sets the amounts of the scratch state. */
XP_INLINE void xp_timed_amounts(struct xp_state *s, u64 elapsed)
{
    u64 period = xp_tp.period ? xp_tp.period : 1;
    xp_no_amounts(s);
    s->amounts[0].count = period;
    s->amounts[0].value = elapsed * period;
}
