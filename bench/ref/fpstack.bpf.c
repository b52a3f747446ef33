/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The reference of bench/unwind.sh: the kernel's own frame pointer walk (bpf_get_stack) for every sample of a process,
 * timed as bpf/submit.bpf.h times the CFI unwinder.
 */
#include "bpf/vmlinux.h"
#include <bpf/bpf_helpers.h>

#define FPSTACK_TIMES 65536

char LICENSE[] SEC("license") = "GPL";

const volatile u32 wanted_tgid = 0;
u64 samples, frames;
u32 times[FPSTACK_TIMES]; /* ns of each sample */

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u64[127]);
} buffer SEC(".maps");

SEC("perf_event")
int fp_stack(struct bpf_perf_event_data *ctx)
{
    u32 zero = 0;
    u64 *to = bpf_map_lookup_elem(&buffer, &zero);
    if (!to || bpf_get_current_pid_tgid() >> 32 != wanted_tgid)
        return 0;
    u64 began = bpf_ktime_get_ns();
    long n = bpf_get_stack(ctx, to, 127 * 8, BPF_F_USER_STACK);
    times[samples & (FPSTACK_TIMES - 1)] = bpf_ktime_get_ns() - began;
    __sync_fetch_and_add(&samples, 1);
    if (n > 0)
        __sync_fetch_and_add(&frames, n / 8);
    return 0;
}
