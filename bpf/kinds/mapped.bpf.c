/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `mapped`: as `function` (function.bpf.c), of functions that are meant by the name of a file. User space attaches
 * the program in each wanted process that maps a file of that name (agent/pipeline/heaps.c), which this tells it.
 */
#define XP_SLOTTED
#define XP_IN_BODIES
#include "bpf/kind.bpf.h"
#include "bpf/tracepoint.h"
#include "bpf/newcode.bpf.h"

const volatile struct xp_tp xp_tp = {};
#include "bpf/conditions.bpf.h"
#include "bpf/occurs.bpf.h"
#include "bpf/cost.bpf.h"

XP_COSTED_PROGRAM("kprobe", xp_on_mapped_function, xp_occurs)
