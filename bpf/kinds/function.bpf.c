/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `function`: calls of functions of programs and libraries, or their returns. User space attaches the program to
 * places in files (agent/probe/places.c); its context are the registers there. The leaf of a call's stack is the
 * function, that of a return its caller.
 */
#ifndef XP_PLAIN /* bpf/kind.bpf.h */
#define XP_SLOTTED
#endif
#define XP_IN_BODIES /* where functions return to, and at offsets in them */
#include "bpf/kind.bpf.h"
#include "bpf/tracepoint.h"
#ifdef XP_MAPPED
#include "bpf/newcode.bpf.h"
#endif

const volatile struct xp_tp xp_tp = {};
#include "bpf/conditions.bpf.h"
#include "bpf/occurs.bpf.h"
#include "bpf/cost.bpf.h"

XP_COSTED_PROGRAM("kprobe", xp_on_function, xp_occurs)
