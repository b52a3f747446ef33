/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `kprobe`: a place in the kernel's code, or the returns of one of its functions. User space attaches the program
 * to it (agent/probe/kind_perf.c); its context are the registers there, where the stack begins, too.
 */
#define XP_OWN_FRAMES 0
#include "bpf/kind.bpf.h"
#include "bpf/tracepoint.h"

const volatile struct xp_tp xp_tp = {};
#include "bpf/conditions.bpf.h"
#include "bpf/occurs.bpf.h"
#include "bpf/cost.bpf.h"

XP_COSTED_PROGRAM("kprobe", xp_on_kprobe, xp_occurs)
