/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `usdt`: probes that programs and libraries have built in (sys/sdt.h). User space attaches the program to their
 * sites (agent/probe/places.c). The leaf of a stack is the function that has the site. The record of which conditions
 * are is the arguments, each as 8 bytes.
 */
#ifndef XP_PLAIN /* bpf/kind.bpf.h */
#define XP_SLOTTED
#endif
#define XP_IN_BODIES /* sites are anywhere in functions */
#include "bpf/kind.bpf.h"
#include "bpf/tracepoint.h"
#ifdef XP_MAPPED
#include "bpf/newcode.bpf.h"
#endif

const volatile struct xp_tp xp_tp = {};
#include "bpf/conditions.bpf.h"
#include "bpf/occurs.bpf.h"
#include "bpf/usdt.bpf.h"
#include "bpf/cost.bpf.h"

XP_INLINE void xp_usdt(u64 *ctx)
{
    u64 arguments[XP_USDT_ARGUMENTS] = {};
    if (!xp_is_wanted())
        return;
    if (xp_usdt_arguments(ctx, XP_SITE(ctx), arguments)) {
        xp_lose(XP_LOSS_FIELD);
        return;
    }
    if (xp_tp_counts(arguments))
        xp_count_record(0, arguments);
}

XP_COSTED_PROGRAM("kprobe", xp_on_usdt, xp_usdt)
