/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The unwinder of bpf/unwind.bpf.h as an ordinary function: the same source with other accessors. Used for stacks that
 * were copied because a file had no table yet, for the oracle, and for unit tests.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "bpf/state.bpf.h"
#include <stddef.h>

struct host_space {
    /* The tables, in the layout of probe/shards.c; a test may use its own arrays. */
    const u32 *words;
    u32 nwords;
    const struct xp_rule *rules;
    /* The process: executable mappings in any order, and its memory. */
    const struct xp_vma *vmas;
    size_t nvmas;
    u64 tls;                          /* the thread's fs base */
    const struct xp_machine *machine; /* NULL: none is known; mappings of code of a JVM have XP_FILE_JVM */
    /* Copies memory of the process. Returns 0, or 1 if part of it cannot be read. */
    int (*read)(void *ctx, void *to, u32 len, u64 from);
    /* The same of the stack. NULL: it is read like all else. */
    int (*read_stack)(void *ctx, void *to, u32 len, u64 from);
    void *ctx;
};

/* Unwinds from `regs`; the frames are out->words[0 .. out->sample.nuser), the end is out->cause. `out` is large: keep
 * it off the stack. Reentrant. */
void host_unwind(const struct host_space *space, const struct xp_regs *regs, struct xp_state *out);

#define HOST_CHAIN_MAX 256
/* Follows the frame pointers from where a stack stopped, and lists the file offsets of the calls in one file's code.
 * They only tell which code to look at: frames come from rows. Returns how many there are. */
size_t host_chain(const struct host_space *space, const struct xp_state *from, u32 file, u64 out[HOST_CHAIN_MAX]);

/* Tells whether the 8 bytes before a return address end with a call. */
int host_is_call(const u8 code[8]);
