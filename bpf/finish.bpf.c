/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Late user stacks by a probe on the return of finish_task_switch, where a thread that came back has released the
 * scheduler's locks: loaded on kernels that have kprobes. It runs on each switch of the machine.
 *
 * It runs with interrupts on and preemption off: as in bpf/resume.bpf.c, what programs of one CPU share is not shared
 * with this object.
 */
#define XP_LANE XP_LANE_LATE
#include "bpf/vmlinux.h"
#include "bpf/xprof.h"
#include "bpf/object.bpf.h"
#include "bpf/waits.bpf.h"
#include "bpf/late.bpf.h"

SEC("kretprobe")
int xp_on_finish(void *ctx)
{
    xp_take_late();
    return 0;
}
