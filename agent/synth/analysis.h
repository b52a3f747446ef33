/* The regions of a file's code, and the region being followed.
 *
 * A region is a connected part of the code: an entry, the blocks reached from it, and all entries that reach the same
 * blocks. Each region is followed to its end separately (flow.c); then its rows are written and the states of its
 * blocks are dropped, so that memory holds one region only, however large the file is. If a region turns out to flow
 * into a finished one, both are taken back and processed again as one. A finished region is also taken back if a
 * function starts inside of it.
 *
 * The exits of a region decide whether it is proven (proof.c). Exits by a jump to another function depend on that
 * function, and are evaluated once all regions are known.
 */
#pragma once
#include "synth/code.h"
#include "synth/rules.h"
#include "synth/step.h"
#include "synth/targets.h"

#define NOBODY UINT32_MAX

#define BLOCK_MAX_BYTES 1024        /* limits the search for the block that contains a byte */
#define BLOCK_GRANULE   4           /* log2 of the number of bytes whose blocks are in one list */
#define MAX_BLOCKS      (2u << 20)  /* of a file; 16 bytes each */
#define MAX_LIVE_BLOCKS (48u << 10) /* of a region; 370 bytes each */
#define MAX_REGIONS     (1u << 18)
#define MAX_NOTES       (1u << 20) /* entries, jumps between functions, rows */
#define MAX_DEADLY      64         /* symbols of functions that do not return */
#define MAX_TABLE       1024       /* entries of a jump table */

struct block {
    u32 at;
    u16 len; /* bytes followed in its last run */
    u8 visits;
    bool queued : 1;
    bool plain : 1; /* the same rules apply to all of its instructions */
    bool exits : 1; /* its last instruction is the exit system call */
    u32 region;
    u32 next; /* in its granule */
};

struct region {
    u32 first_block, nblocks;
    u32 first_row, nrows;
    u32 entry; /* the last one of a list in analysis.entries */
    u32 own;   /* exits at the right height */
    u32 ok;    /* `own`, and exits to proven code */
    u32 waits; /* exits to functions that are not proven yet */
    bool gone; /* taken back */
    bool bad;  /* exits at different heights, overlapping instructions, ... */
    bool height_known;
    bool open;      /* an exit leads to unknown code */
    bool calls;     /* calls functions in gaps */
    bool passes_on; /* jumps through a pointer at the right height, perhaps to another function */
    bool doubtful;  /* continues after calls that may not return, or ends in unknown code */
    bool endless;   /* no exit proves it, but nothing contradicts it */
    bool called;    /* called by proven code */
    bool asked;     /* its callees have been processed */
    u16 kept;       /* bit r: preserves register r for its callers */
    struct frame frame;
};

struct region_entry {
    u32 at, next;
};
struct region_jump { /* jump to another function, at the right height */
    u32 region, to;
    u32 on; /* the region whose rule at `to` was assumed to be true; NOBODY: `to` is an entry */
};
struct region_trust { /* assumption that a callee preserves more than the psABI requires */
    u32 region, callee;
    u16 kept;
};
struct region_row {
    u32 at, end, region;
    bool exits; /* its last instruction is the exit system call; during the call the pc is after it */
    struct xp_rule rule;
};

struct analysis {
    struct code code;
    const struct synth_limits *limits;
    struct synth_counts *n;
    enum synth_drop dropped; /* a limit was reached: the whole result is dropped */
    int err;
    u64 started;      /* CPU ns */
    const u64 *roots; /* the only entries; NULL: whatever the file tells */
    size_t nroots;
    u32 ticks;

    u32 *granules; /* index of the first block that starts there + 1 */
    VEC(struct block) blocks;
    VEC(struct region) regions;
    VEC(struct region_entry) entries;
    VEC(struct region_jump) jumps;
    VEC(struct region_trust) trust; /* of regions with rows */
    VEC(struct region_row) rows;
    VEC(u32) asked;      /* functions found in the meantime */
    VEC(u32) named;      /* functions named by the file or by covered code, ascending */
    VEC(u32) called;     /* functions called by covered code */
    VEC(u32) table_ends; /* low halves of addresses in code, ascending; read for the first jump table */
    bool table_ends_read;
    struct target_sets targets;
    struct plt *plt; /* read on demand */
    bool plt_read;
    u64 deadly[MAX_DEADLY]; /* addresses of functions that do not return */
    u32 ndeadly;

    /* The region being followed. */
    u32 current;
    u32 joined;               /* the region it flows into; NOBODY: none */
    VEC(struct state) states; /* of its blocks */
    VEC(u32) queue;
    struct stores stores;
};

/* Tells whether the analysis was aborted. */
static inline bool analysis_over(const struct analysis *a)
{
    return a->err || a->dropped;
}
void analysis_drop(struct analysis *a, enum synth_drop why);
/* Counts a small piece of work; checks the clock every few thousand. */
void analysis_tick(struct analysis *a);
/* Counts an instruction. */
static inline void analysis_count(struct analysis *a)
{
    a->n->insns++;
    analysis_tick(a);
}

/* regions.c. Requests the function that starts at this address, to be followed later unless it is known. */
void region_ask(struct analysis *a, u64 pc);
/* Requests a possible function: the address occurs in code or data, but is not called. Dropped if code contradicts
 * it. */
void region_ask_weakly(struct analysis *a, u64 pc);
/* Tells whether a weak entry leads into the current region. */
bool region_is_weak(const struct analysis *a);
/* Refuses a weak entry outside of the current region, because no function starts there, and takes back its region. */
void region_refuse_entry(struct analysis *a, u32 at);
/* Follows all requested functions and their callees. */
void region_run_asked(struct analysis *a);
/* Follows code that was not reached otherwise (orphans.c), and its callees. */
void region_run_orphan(struct analysis *a, u32 at);
/* Returns the registers preserved by a function in a gap, as currently known. Notes that the current region relies on
 * it. */
u16 region_kept_by(struct analysis *a, u32 callee);
/* Returns the registers that are preserved across an instruction, if it is a call. */
u16 region_kept(struct analysis *a, const struct insn *x, u64 next);
/* What is known about a callee. A callee that was not followed yet is assumed to return. */
enum region_end { REGION_RETURNS, REGION_MAY_RETURN, REGION_STAYS };
enum region_end region_end_of(struct analysis *a, u64 callee);
/* Tells whether the callee was followed completely and never returns. */
bool region_stays(struct analysis *a, u64 callee);
/* Processes again the regions whose callees preserve fewer registers than assumed. `unproven`: also unproven regions
 * with calls, because more is known about their callees now. False: there was none. */
bool region_run_again(struct analysis *a, bool unproven);

/* region_blocks.c */
void region_take_back(struct analysis *a, u32 region);
struct block *region_block_at(struct analysis *a, u32 at);
/* Finds the block with an instruction that starts here; NULL: none. */
struct block *region_block_of(struct analysis *a, u32 at);
/* Adds a block to the current region; NULL: a limit was reached. */
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
    FLOW_BACK, /* return from a call */
    FLOW_CASE, /* through a jump table */
};
/* Follows the current region until nothing changes, or until it flows into another one. */
void flow_run(struct analysis *a);
void flow_enqueue(struct analysis *a, struct block *b);
/* Notes that control reaches an address in state s. */
void flow_to(struct analysis *a, u64 pc, const struct state *s, enum flow_how how);

/* jump_table.c */
void jump_table_follow(struct analysis *a, const struct step *x, u64 pc, const struct state *s);

/* Tells whether code refers to this address, for example as a function. */
bool jump_table_may_end(struct analysis *a, u64 pc);

/* noreturn.c: a symbol of the file, whose name is in `names`. */
void noreturn_symbol(struct analysis *a, const struct elf_section *names, const Elf64_Sym *sym);
bool noreturn_call(struct analysis *a, u64 target);
/* Tells whether a function in a gap is known to return. */
bool noreturn_is_not(struct analysis *a, u64 target);

/* The exit system calls, which do not return either. The value of rax is tracked from one instruction to the next. */
struct exit_watch {
    u32 rax;
    bool known;
};
/* Processes the instruction `x` with its bytes at `p`. True: the thread ends here. */
bool noreturn_exits(struct exit_watch *w, const u8 *p, const struct insn *x);
/* Tells whether all paths from here lead directly to an exit system call. */
bool noreturn_leads_to_exit(const struct code_gap *g, u32 at);

/* proof.c: notes that the current region is left in state s by `ret`, or by a jump to code with rows. */
void proof_leave(struct analysis *a, const struct state *s);
/* The same for an orphan, by a jump to `at` in another region, whose rule is known. */
void proof_leave_into(struct analysis *a, const struct state *s, u32 other, u32 at, const struct xp_rule *truth);
/* The same by a jump to the function at `at`. */
void proof_leave_to(struct analysis *a, const struct state *s, u32 at);
/* Evaluates the registers of an orphan whose exits agree. */
void proof_settle(struct analysis *a);
/* Marks regions as proven that end in a jump to a proven region; no other region without `ret` is proven. */
void proof_spread(struct analysis *a);
/* Tells whether the assumption is still true, or no longer used. */
bool proof_is_kept(struct analysis *a, const struct region_trust *t);
/* Tells whether the current region, which was followed to its end, has no exit, like main of a server. Its heights
 * follow from its entry as in any region, but no `ret` confirms them. So its entry must be certain, all its callees
 * must be known to return, and proven code must call it. */
bool proof_is_endless(const struct analysis *a);
/* Once all regions are known: finds which endless regions are called. */
void proof_call(struct analysis *a);
/* Once all regions are known: drops rows based on assumptions that turned out to be false. */
void proof_check(struct analysis *a);
static inline bool proof_holds(const struct region *r)
{
    return (r->ok || (r->endless && r->called)) && !r->bad && !r->gone;
}

/* emit.c: rows of the current region. */
void emit_region(struct analysis *a);
/* Finds the rule of a finished region at an instruction. False: none. */
bool emit_rule_at(const struct analysis *a, const struct region *r, u32 at, struct xp_rule *out);
/* Writes the rows and ranges of all proven regions. */
void emit_rows(struct analysis *a, struct synth *out);

/* entries.c: requests every function named by the file or by covered code. */
void entries_find(struct analysis *a);
/* The roots instead. */
void entries_ask(struct analysis *a);

/* orphans.c: follows code that was not reached. */
void orphans_run(struct analysis *a);
