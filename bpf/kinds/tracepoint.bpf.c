/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `tracepoint`: any tracepoint, with conditions on its fields. User space attaches the program to one
 * (agent/probe/kind_perf.c); its context is the record that perf and tracefs have of an occurrence. The first 8 bytes
 * of it are the program's own.
 */
#define XP_OWN_FRAMES 1 /* what perf calls at the tracepoint */
#include "bpf/kind.bpf.h"
#include "bpf/tracepoint.h"

const volatile struct xp_tp xp_tp = {};
#include "bpf/conditions.bpf.h"
#include "bpf/occurs.bpf.h"
#include "bpf/cost.bpf.h"

XP_COSTED_TRACEPOINT(xp_on_tracepoint, xp_occurs)
