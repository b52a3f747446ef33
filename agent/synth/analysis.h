/* The regions of a file's code, and the one that is being followed.
 *
 * A region is what hangs together: an entry, the blocks that flow from it, and whatever entries flow into the same
 * blocks. It is followed to its end by itself (flow.c); then its rows are made, and the states of its blocks are
 * forgotten, so that memory holds one region, however large the file. When it turns out that a region flows into one
 * that was done, both are taken back and done again as one. When a function begins inside of a done region, that one is
 * taken back, too.
 *
 * Whether a region counts is decided by the ways out of it (proof.c); those by a jump to another function depend on
 * that one, and wait until all are known.
 */
#pragma once
#include "synth/code.h"
#include "synth/rules.h"
#include "synth/step.h"
#include "synth/targets.h"

#define NOBODY UINT32_MAX

#define BLOCK_MAX_BYTES 1024        /* bounds the search for the block that a byte is in */
#define BLOCK_GRANULE   4           /* log2 of the bytes whose blocks are one list */
#define MAX_BLOCKS      (2u << 20)  /* of a file; 16 bytes each */
#define MAX_LIVE_BLOCKS (48u << 10) /* of a region; 370 bytes each */
#define MAX_REGIONS     (1u << 18)
#define MAX_NOTES       (1u << 20) /* entries, jumps between functions, rows */
#define MAX_DEADLY      64         /* symbols of functions that do not return */
#define MAX_TABLE       1024       /* entries of a jump table */

struct block {
    u32 at;
    u16 len; /* bytes that were followed when it ran last */
    u8 visits;
    bool queued : 1;
    bool plain : 1; /* the same rules hold at all of its instructions */
    bool exits : 1; /* its last one is the exit system call */
    u32 region;
    u32 next; /* in its granule */
};

struct region {
    u32 first_block, nblocks;
    u32 first_row, nrows;
    u32 entry; /* the last one of a list in analysis.entries */
    u32 own;   /* ways out at the right height */
    u32 ok;    /* these, and those to what is proven */
    u32 waits; /* ways out to functions that are not proven yet */
    bool gone; /* taken back */
    bool bad;  /* ways out at different heights, instructions inside of each other, ... */
    bool height_known;
    bool open;      /* some way out leads to code that is not known */
    bool calls;     /* functions of the gaps */
    bool passes_on; /* through a pointer, at the right height: to another function, perhaps */
    bool doubtful;  /* goes on behind calls that may not return, or ends in what was not understood */
    bool endless;   /* no way out that proves anything, but nothing speaks against it */
    bool called;    /* something that counts calls it */
    bool asked;     /* what it calls has been looked at */
    u16 kept;       /* bit r: whoever calls it finds register r as it was */
    struct frame frame;
};

struct region_entry {
    u32 at, next;
};
struct region_jump { /* to another function, at the right height */
    u32 region, to;
    u32 on; /* the region whose rule at `to` was taken for true; NOBODY: `to` is an entry */
};
struct region_trust { /* that a callee keeps more than the psABI says */
    u32 region, callee;
    u16 kept;
};
struct region_row {
    u32 at, end, region;
    bool exits; /* its last instruction is the exit system call, during which the pc is behind it */
    struct xp_rule rule;
};

struct analysis {
    struct code code;
    const struct synth_limits *limits;
    struct synth_counts *n;
    enum synth_drop dropped; /* a limit was hit: nothing counts any more */
    int err;
    u64 started; /* CPU ns */
    u32 ticks;

    u32 *granules; /* the first block that begins there + 1 */
    VEC(struct block) blocks;
    VEC(struct region) regions;
    VEC(struct region_entry) entries;
    VEC(struct region_jump) jumps;
    VEC(struct region_trust) trust; /* of regions that have rows */
    VEC(struct region_row) rows;
    VEC(u32) asked;      /* functions that were found meanwhile */
    VEC(u32) named;      /* those that the file or covered code says are functions, ascending */
    VEC(u32) called;     /* those that covered code calls */
    VEC(u32) table_ends; /* addresses that code names, low halves, ascending; read when the first table is met */
    bool table_ends_read;
    struct target_sets targets;
    struct plt *plt; /* read when it is first asked for */
    bool plt_read;
    u64 deadly[MAX_DEADLY]; /* addresses of functions that do not return */
    u32 ndeadly;

    /* The region being followed. */
    u32 current;
    u32 joined;               /* the region that it flows into; NOBODY: none */
    VEC(struct state) states; /* of its blocks */
    VEC(u32) queue;
    struct stores stores;
};

/* Has it come to an end before its time? */
static inline bool analysis_over(const struct analysis *a)
{
    return a->err || a->dropped;
}
void analysis_drop(struct analysis *a, enum synth_drop why);
/* Some small piece of work is done: after a few thousand of them the clock is looked at. */
void analysis_tick(struct analysis *a);
/* An instruction is. */
static inline void analysis_count(struct analysis *a)
{
    a->n->insns++;
    analysis_tick(a);
}

/* regions.c. A function begins at this address: to be followed later, unless it is known. */
void region_ask(struct analysis *a, u64 pc);
/* Perhaps one does: something names the address, but does not call it. Dropped when code contradicts it. */
void region_ask_weakly(struct analysis *a, u64 pc);
/* Does a weak entry lead into the current region? */
bool region_is_weak(const struct analysis *a);
/* No function begins at this weak entry, which is not of the current region. What was done of it is taken back. */
void region_refuse_entry(struct analysis *a, u32 at);
/* Follows all that was asked for, and whatever that calls. */
void region_run_asked(struct analysis *a);
/* Follows what nobody has reached (orphans.c), and what that calls. */
void region_run_orphan(struct analysis *a, u32 at);
/* The registers that a function of the gaps keeps, as far as is known now. The current region relies on it. */
u16 region_kept_by(struct analysis *a, u32 callee);
/* Those that an instruction leaves to its callee and finds again, if it calls at all. */
u16 region_kept(struct analysis *a, const struct insn *x, u64 next);
/* What was seen of a callee. What has not been followed is taken to return. */
enum region_end { REGION_RETURNS, REGION_MAY_RETURN, REGION_STAYS };
enum region_end region_end_of(struct analysis *a, u64 callee);
/* Was it followed to its end, all of it, and has none? */
bool region_stays(struct analysis *a, u64 callee);
/* Regions whose callees have turned out to keep less than was thought get another try; so do the unproven ones that
 * call something, since more is known now of what their callees keep. False: there was none. */
bool region_run_again(struct analysis *a, bool unproven);

/* region_blocks.c */
void region_take_back(struct analysis *a, u32 region);
struct block *region_block_at(struct analysis *a, u32 at);
/* The block that holds an instruction which begins here; NULL: none. */
struct block *region_block_of(struct analysis *a, u32 at);
/* A block of the current region; NULL: a limit. */
struct block *region_add_block(struct analysis *a, u32 at, const struct state *s);
static inline struct region *region_current(struct analysis *a)
{
    return &a->regions.v[a->current];
}
static inline struct state *region_state(struct analysis *a, const struct block *b)
{
    return &a->states.v[(size_t)(b - a->blocks.v) - region_current(a)->first_block];
}

/* flow.c */
enum flow_how {
    FLOW_FALL,
    FLOW_JUMP,
    FLOW_BACK, /* from a call */
    FLOW_CASE, /* through a jump table */
};
/* Follows the current region until nothing changes, or it is joined. */
void flow_run(struct analysis *a);
void flow_enqueue(struct analysis *a, struct block *b);
/* Control reaches an address in state s. */
void flow_to(struct analysis *a, u64 pc, const struct state *s, enum flow_how how);

/* jump_table.c */
void jump_table_follow(struct analysis *a, const struct step *x, u64 pc, const struct state *s);

/* Does code name this address, as a function's for example? */
bool jump_table_may_end(struct analysis *a, u64 pc);

/* noreturn.c: a symbol of the file, whose name is in `names`. */
void noreturn_symbol(struct analysis *a, const struct elf_section *names, const Elf64_Sym *sym);
bool noreturn_call(struct analysis *a, u64 target);
/* Is a function of the gaps known to come back, by what was seen of it? */
bool noreturn_is_not(struct analysis *a, u64 target);

/* The exit system calls, which do not return either. What rax holds is known from one instruction to the next. */
struct exit_watch {
    u32 rax;
    bool known;
};
/* The instruction `x`, whose bytes are at `p`. True: the thread ends here. */
bool noreturn_exits(struct exit_watch *w, const u8 *p, const struct insn *x);
/* Does all that runs from here on lead straight there? */
bool noreturn_leads_to_exit(const struct code_gap *g, u32 at);

/* proof.c: the current region is left in state s: by `ret`, or by a jump to code that has rows. */
void proof_leave(struct analysis *a, const struct state *s);
/* An orphan, by a jump to `at` in another region, whose rule is known. */
void proof_leave_into(struct analysis *a, const struct state *s, u32 other, u32 at, const struct xp_rule *truth);
/* By a jump to the function at `at`. */
void proof_leave_to(struct analysis *a, const struct state *s, u32 at);
/* An orphan's ways out agree: what they say of its registers is sorted out. */
void proof_settle(struct analysis *a);
/* Those that end in a jump to a proven region are proven, and no others that do not return themselves. */
void proof_spread(struct analysis *a);
/* Is it still true, or does nobody rely on it? */
bool proof_is_kept(struct analysis *a, const struct region_trust *t);
/* Does the current region, which was followed to its end, never leave? Like main of a server: its heights follow from
 * its entry as in any region, but no `ret` confirms them. So its entry must be one, all that it passes must be known to
 * come back, and something that counts must call it. */
bool proof_is_endless(const struct analysis *a);
/* All regions are known: what of that kind is called. */
void proof_call(struct analysis *a);
/* All regions are known: rows that were made with what is not true any more do not count. */
void proof_check(struct analysis *a);
static inline bool proof_holds(const struct region *r)
{
    return (r->ok || (r->endless && r->called)) && !r->bad && !r->gone;
}

/* emit.c: rows of the current region. */
void emit_region(struct analysis *a);
/* The rule that a region that is done has at an instruction. False: none. */
bool emit_rule_at(const struct analysis *a, const struct region *r, u32 at, struct xp_rule *out);
/* Rows of all that is proven, and the ranges. */
void emit_rows(struct analysis *a, struct synth *out);

/* entries.c: asks for every function that the file or its covered code names. */
void entries_find(struct analysis *a);

/* orphans.c: what nobody has reached. */
void orphans_run(struct analysis *a);
