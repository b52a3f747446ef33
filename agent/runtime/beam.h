/* Reads Erlang's virtual machine with its JIT compiler (BEAM, from OTP 24 on) out of the memory of its process, without
 * any help of it.
 *
 * Generated code is announced by GDB's JIT interface (__jit_debug_descriptor), always: a list of modules, with the
 * ranges of their functions, and the lines in them, in a format of its own (erts/emulator/beam/jit:
 * beam_jit_metadata.cpp; beam_asm.cpp before). A frame is an address, and gets its name by that. The unwinder scans the
 * stacks of Erlang processes (bpf/beam.bpf.h); what it has to know for that is in the code of the scheduler, and in
 * what beam.smp exports.
 *
 *   beam.c           finds the virtual machine
 *   beam_layout.c    where the stacks of schedulers and processes begin
 *   beam_modules.c   the list of modules
 *   beam_names.c     from words of a stack (bpf/script.h) to frames
 *
 * Frames are named "module:function/arity". "[erlang]" is generated code that was not announced, and "[erlang: gone]"
 * is that of a module that was replaced.
 *
 * All of it is the process's to choose: lengths and steps are bounded, and all reads are of its own memory. Runs in the
 * parser process; beam_check runs in its parent, too.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>

#define BEAM_RELEASE 8

struct beam { /* what is known of a process; plain numbers, so that they can be sent and kept */
    struct xp_script machine;
    u64 descriptor;             /* __jit_debug_descriptor */
    char release[BEAM_RELEASE]; /* of OTP; empty: not known */
};

/* Checks what came from another process: whatever it says, nothing that is computed with it overflows. Returns 0 or
 * -EBADMSG. */
int beam_check(const void *data, size_t len);

struct memory;
/* See struct runtime_memory_ops (runtime/runtime.h). */
int beam_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out);
