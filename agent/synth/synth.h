/* Derives unwind rows from the instructions of code without CFI: the third source besides FDEs and gopclntab.
 *
 * Hand-written assembly (video, crypto, linear algebra) has no FDEs, but what it does to the stack is plain to see:
 * push, sub rsp, call, ret. From each address that something calls, the instructions are followed with values such as
 * "the CFA - 24" or "what rbx was on entry" for registers and stack slots; where paths meet, what differs becomes
 * unknown. A connected region of code counts only if some path leaves it as a function leaves, by `ret` or a jump to a
 * function with rsp = CFA - 8, and none at another height: that is the proof. Code that never leaves (a server's main,
 * a stub that jumps through a pointer) counts if all that it calls is known to return, and something that counts calls
 * it. Code that nothing known leads to ("orphans": reached through tables that were not understood) is run from an
 * assumed height, which its rets then correct: its rows are "inferred". What has dropped its return address and leads
 * straight to the exit system call is XP_CFA_END. All else is XP_CFA_UNPROVEN: stacks end there, and say so.
 *
 *   gaps -> entries -> flow (insn -> step -> state) -> proof -> rules
 *
 * It trusts: that callees keep rbx, rbp, r12-r15 and return to where they were called from, that stores through
 * pointers that are not the stack's do not hit saved registers, and that what is called is code. It does not trust the
 * file: whatever the bytes are, time and memory are bounded, and a limit that is hit drops the file's rows whole, since
 * half of a fixpoint is not sound.
 *
 * References: P. and R. Cousot, "Abstract interpretation" (POPL 1977), for the method; psABI x86-64, 3.2, for what a
 * function may rely on.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "elf/elf.h"

struct synth_span { /* file offsets */
    u64 start, end;
};

struct synth_row {
    u64 offset;          /* in the file */
    struct xp_rule rule; /* holds from there on; marked as synthesised, and as inferred if it is; or XP_CFA_UNPROVEN */
};

/* Why a file has no synthesised rows: X(enum name, slug, sentence). */
#define SYNTH_DROPS(X)                                                                               \
    X(NOT, "", "the code has unwind information")                                                    \
    X(NO_CODE, "no-code", "all code is covered, or is padding")                                      \
    X(GO, "go", "Go has its own calling convention and tables")                                      \
    X(GHC, "ghc", "GHC's code keeps no return addresses on the stack")                               \
    X(OCAML, "ocaml", "OCaml 5 switches stacks in its own code")                                     \
    X(V8, "v8", "V8's embedded builtins keep frame pointers instead")                                \
    X(UNLIKELY, "unlikely", "most of the code is not covered, and most of that could not be proven") \
    X(BYTES, "bytes", "more code without CFI than the limit")                                        \
    X(INSNS, "instructions", "more instructions to follow than the limit")                           \
    X(MEMORY, "memory", "more regions, blocks or entries than the limit")                            \
    X(TIME, "time", "more CPU time than the limit")

enum synth_drop {
#define SYNTH_DROP_ENUM(name, slug, text) SYNTH_DROP_##name,
    SYNTH_DROPS(SYNTH_DROP_ENUM)
#undef SYNTH_DROP_ENUM
        SYNTH_DROP_COUNT
};

struct rules; /* rules.h */

struct synth_limits {
    u64 max_code;   /* bytes of gaps that are not padding at their front; <= 1 << 30 */
    u64 max_insns;  /* instructions executed, however often each */
    u32 max_cpu_ms; /* of the calling thread */
    u32 max_visits; /* of one block: a region that needs more is given up */
    /* For those who check: is told of all rules that hold at an instruction, before rows are made of them (some regions
     * turn out not to be proven later). NULL: nobody checks. */
    void (*witness)(void *ctx, u64 offset, u32 len, const struct rules *all);
    void *ctx;
};
#define SYNTH_LIMITS_DEFAULT                                                                \
    {                                                                                       \
        .max_code = 16u << 20, .max_insns = 24u << 20, .max_cpu_ms = 3000, .max_visits = 64 \
    }

struct synth_counts {
    u64 gap_bytes;     /* executable and not covered */
    u64 code_bytes;    /* of these, not padding */
    u64 claimed_bytes; /* of these, with a rule */
    u64 insns;         /* executed */
    u64 entries;
    u64 regions, proven, bad; /* proven: by a way out; bad: contradicted */
    u64 orphans, solved;      /* regions tried backwards, and those of them whose rets agreed */
    u64 tables;               /* jump tables followed */
    u64 reruns;               /* regions that were found to be connected when one had been done */
};

struct synth {
    VEC(struct synth_row) rows;    /* ascending; each range has its first one at its start, all are in ranges */
    VEC(struct synth_span) ranges; /* ascending, apart: the gaps that the rows speak for; those of padding are none */
    struct synth_counts n;
    enum synth_drop dropped; /* not SYNTH_DROP_NOT: no rows, no ranges */
};

/* Reads all executable code of `e` that `covered` leaves out. covered: n spans of code that has rows, ascending, not
 * overlapping; each begins where an instruction does (an FDE, known code), so spans that touch are not to be joined.
 * `out` starts as {0}; synth_free. 0 (see out->dropped), -EINVAL (covered is not as described), -ENOMEM. */
int synth_read(const struct elf_file *e, const struct synth_span *covered, size_t n, const struct synth_limits *limits,
               struct synth *out);
void synth_free(struct synth *s);
#define AUTO_SYNTH __attribute__((cleanup(synth_free)))

/* The slug of a reason. */
const char *synth_drop_name(enum synth_drop d);
