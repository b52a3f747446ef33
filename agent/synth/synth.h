/* Derives unwind rows from the instructions of code without CFI: the third source of rows, besides FDEs and gopclntab.
 *
 * Hand-written assembly (video, crypto, linear algebra) has no FDEs, but its effect on the stack is simple: push, sub
 * rsp, call, ret. Starting at each address that is called, the instructions are followed with values such as "the CFA -
 * 24" or "rbx on entry" for registers and stack slots; where paths meet, different values become unknown. A connected
 * region of code is proven if some path leaves it like a function does, by `ret` or a jump to a function with rsp = CFA
 * - 8, and no path leaves it at another height. Code that is never left (a server's main, a stub that jumps through a
 * pointer) is accepted if all its callees are known to return, and accepted code calls it. Code that no known path
 * reaches ("orphans": reached through unknown jump tables) is followed from an assumed height, which its `ret`
 * instructions then correct: its rows are "inferred". Code that has dropped its return address and leads directly to
 * the exit system call is XP_CFA_END. All other code is XP_CFA_UNPROVEN: stacks end there with that cause.
 *
 *   gaps -> entries -> flow (insn -> step -> state) -> proof -> rules
 *
 * Assumptions: callees preserve rbx, rbp, r12-r15 and return to their caller; stores through pointers that do not point
 * to the stack do not overwrite saved registers; and targets of calls are code. The file is not trusted: time and
 * memory are limited for any input. If a limit is reached, all rows of the file are dropped, because an incomplete
 * fixpoint is not sound.
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
    struct xp_rule rule; /* applies from there on; marked as synthesised or inferred; or XP_CFA_UNPROVEN */
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
    u64 max_code;   /* bytes of gaps without leading padding; <= 1 << 30 */
    u64 max_insns;  /* executed instructions, including repetitions */
    u32 max_cpu_ms; /* of the calling thread */
    u32 max_visits; /* per block: a region that needs more is given up */
    /* For tests: called with all rules that apply at an instruction, before rows are built from them (some of the
     * regions are not proven later). May be NULL. */
    void (*witness)(void *ctx, u64 offset, u32 len, const struct rules *all);
    void *ctx;
};
#define SYNTH_LIMITS_DEFAULT                                                                \
    {                                                                                       \
        .max_code = 16u << 20, .max_insns = 24u << 20, .max_cpu_ms = 3000, .max_visits = 64 \
    }

struct synth_counts {
    u64 gap_bytes;     /* executable code that is not covered */
    u64 code_bytes;    /* those that are not padding */
    u64 claimed_bytes; /* those with a rule */
    u64 insns;         /* executed */
    u64 entries;
    u64 regions, proven, bad; /* proven: by an exit; bad: contradicted */
    u64 orphans, solved;      /* regions solved backwards: attempted; successful */
    u64 tables;               /* jump tables followed */
    u64 reruns;               /* regions found to be connected after one was finished */
};

struct synth {
    VEC(struct synth_row) rows;    /* ascending; all inside ranges, with one at the start of each range */
    VEC(struct synth_span) ranges; /* ascending, disjoint: gaps for which there are rows, without those of padding */
    struct synth_counts n;
    enum synth_drop dropped; /* not SYNTH_DROP_NOT: no rows, no ranges */
    size_t unread;           /* synth_read_stretches: the time did not suffice for so many, the last ones */
};

/* Analyses all executable code of `e` outside of `covered`: n spans of code with rows, ascending and disjoint. Each
 * span starts at an instruction (an FDE, known code), so adjacent spans must not be merged. `out` must be {0}; release
 * it with synth_free. Returns 0 (see out->dropped); -EINVAL: `covered` is invalid; -ENOMEM. */
int synth_read(const struct elf_file *e, const struct synth_span *covered, size_t n, const struct synth_limits *limits,
               struct synth *out);
/* The same with functions at these addresses only, and what they lead to: no other code is looked at, whether covered
 * or not. */
int synth_read_roots(const struct elf_file *e, const struct synth_span *covered, size_t n, const u64 *roots,
                     size_t nroots, const struct synth_limits *limits, struct synth *out);
/* The same for files with more code than the limit (frames.h): only the wanted stretches are read, and only code that
 * keeps frame pointers gets rows. `wanted`: numbers of stretches, ascending: file offset / SYNTH_STRETCH. `io` has the
 * rows of earlier calls for the same file, or is {0}; those of this one are added. If the time is up, the others of
 * these stretches get none. */
#define SYNTH_STRETCH (1u << 18)
int synth_read_stretches(const struct elf_file *e, const struct synth_span *covered, size_t n, const u32 *wanted,
                         size_t nwanted, const struct synth_limits *limits, struct synth *io);
void synth_free(struct synth *s);
#define AUTO_SYNTH __attribute__((cleanup(synth_free)))

/* Tells whether a file was too much to be analysed as a whole: it may be read by stretches. */
static inline bool synth_drop_is_limit(enum synth_drop d)
{
    return d == SYNTH_DROP_BYTES || d == SYNTH_DROP_INSNS || d == SYNTH_DROP_MEMORY || d == SYNTH_DROP_TIME;
}
/* Returns the slug of a reason. */
const char *synth_drop_name(enum synth_drop d);
