/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The contract of kinds that are counted in sums per distinct stack (bpf/kind.bpf.h), as bpf/waits.h is that of waits.
 * Include bpf/xprof.h first.
 */
#pragma once

#define XP_MAX_STACKS  (1u << 15) /* distinct stacks of an interval that sums and waits refer to */
#define XP_WAIT_SHARE  4          /* with neighbours, a cgroup may have one part in so many */
#define XP_WAIT_GROUPS 4096       /* cgroups that have something of it */
#define XP_MAX_SUMS    (1u << 14) /* distinct stacks of a kind in an interval: twice 2.5 MB */

struct xp_sum_key {
    u64 stack; /* key of a stack (XP_RECORD_STACK), kernel words and user words together */
    u64 label; /* what else tells sums apart: an XP_WORD_LABEL, which becomes the first of the stack; 0: nothing */
};
struct xp_sum { /* as the values of the kind (struct event_kind) */
    struct xp_amount of[XP_MAX_VALUES];
};
