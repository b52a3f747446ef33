/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The part of the contract (bpf/xprof.h, which includes it) that says what the kernel side knows of a process with a
 * runtime (agent/runtime/runtime.h): one entry of the `machines` map.
 */
#pragma once
#include "bpf/hotspot.h"
#include "bpf/python.h"
#include "bpf/script.h"
#include "bpf/v8.h"

#define XP_MAX_MACHINES 1024 /* processes */

struct xp_process_key { /* as in struct xp_region_key */
    u64 process;
    u64 stack;
    u32 tgid;
    u32 pad;
};
_Static_assert(sizeof(struct xp_process_key) == 24, "no hidden padding in a hash key");

enum xp_machine_kind { XP_MACHINE_NONE, XP_MACHINE_JVM, XP_MACHINE_PYTHON, XP_MACHINE_V8, XP_MACHINE_SCRIPT };
struct xp_machine {
    u32 kind; /* enum xp_machine_kind */
    u32 pad;
    union {
        struct xp_jvm jvm;
        struct xp_python python;
        struct xp_v8 v8;
        struct xp_script script;
    };
};
_Static_assert(sizeof(struct xp_machine) == 8 + sizeof(struct xp_jvm), "no hidden padding");
