/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * What the objects that take stacks have in common: settings, maps, unwinder. Each object is loaded when somebody wants
 * its events (agent/probe); all use the maps of the first one, xprof.bpf.c. Include bpf/vmlinux.h and bpf/xprof.h
 * first.
 */
#pragma once
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define XP_INLINE   static __always_inline
#define XP_NOINLINE __noinline
#define XP_UNROLL   _Pragma("unroll")
/* Makes the verifier forget everything about a 64-bit variable except that its value has 32 bits. */
#define XP_FORGET(v) asm volatile("%0 <<= 32\n\t%0 >>= 32" : "+r"(v))

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by user space before loading (agent/probe). */
const volatile struct xp_config xp_config = {};
/* Changed by user space while sampling. These three are all that objects have in .bss, which is one map for all. */
volatile struct xp_live xp_live = {};
/* When user space was last woken up because of generated code, and whether there are frames without name since. */
volatile u64 xp_woken = 0, xp_owed = 0;

#include "bpf/state.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/table.bpf.h"
#include "bpf/arch_x86.bpf.h"
#include "bpf/file.bpf.h"
#include "bpf/vma.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/frame.bpf.h"
#include "bpf/go.bpf.h"
#include "bpf/hotspot.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/script.bpf.h"
#include "bpf/v8.bpf.h"
#include "bpf/probed.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/task.bpf.h"
#include "bpf/who.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/wakeup.bpf.h"
#include "bpf/submit.bpf.h"
