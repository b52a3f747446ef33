/* Rows for code that keeps frame pointers, read one stretch at a time: for programs with more code than synth_read can
 * follow (a browser has 240 MB).
 *
 * Compilers that keep frame pointers have one discipline: a function begins with "push rbp; mov rbp, rsp", gives rbp
 * back by "pop rbp" or "leave" right before it returns or jumps to another function, and writes rbp nowhere else. So at
 * each instruction it is one of three things: rsp has just been entered with (OUT), rbp is saved (SAVED), or rbp is the
 * frame pointer (IN). Instructions are decoded one after another; pieces between those that change this are the nodes,
 * jumps and calls the edges of a small system of equations: both ends of a jump are the same, the target of a call is
 * OUT, a `ret` is OUT, code that uses rbp as an address is IN. Whatever contradicts the discipline or an equation makes
 * its whole function and all that jumps in and out of it worthless; what no equation decides stays undecided. In both,
 * rows are XP_CFA_UNPROVEN. And a stretch counts only if nearly all of its functions keep the discipline; so code that
 * looks like it by chance, because it is assembly, data or of a foreign compiler, is not believed.
 *
 * Compilers of other languages have frame pointers, too, but their own ways around them (V8's builtins drop their
 * return address, look into the frame of their caller, push arguments before they have a frame). Where rbp is at least
 * never written otherwise, it is the frame pointer from where a frame is made to where it is left, and at each call.
 * Outside of frames, the stack pointer is followed from where a function is entered (frames_flow.c). Only there are
 * rows.
 *
 * Unlike rows of synth_read these rest on a convention, not on a proof of each path: they are marked as inferred.
 */
#pragma once
#include "base/vec.h"
#include "synth/code.h"

#define FRAMES_MAX_CODE   (1u << 30)  /* bytes of gaps; most of them are never read */
#define FRAMES_MAX_RUN    (1u << 20)  /* bytes read as one; limits memory */
#define FRAMES_SYNC_REACH (64u << 10) /* bytes to the next function start, at most */

enum frames_state { FRAMES_UNKNOWN, FRAMES_OUT, FRAMES_SAVED, FRAMES_IN };

enum frames_mark {
    FRAMES_BAD = 1,  /* contradicts the discipline */
    FRAMES_WILD = 2, /* writes rbp in another way, or is no code */
};

struct frames_piece { /* instructions between which the state does not change */
    u32 at;           /* from the start of the run */
    u8 state;         /* enum frames_state */
    bool starts : 1;  /* nothing flows into it from the piece before */
    bool padded : 1;  /* padding lies before it, and it is aligned: functions begin so */
    bool trap : 1;    /* that padding contains int3 */
    bool joined : 1;  /* only padding lies between it and a call */
    bool frames : 1;  /* ends with "push rbp", outside of a frame */
    bool soft : 1;    /* changes rsp or calls: no function does so before it has a frame */
    bool made : 1;    /* follows "mov rbp, rsp" */
    bool called : 1;  /* by a direct call */
    bool framed : 1;  /* all ways that are known to lead here come from where a frame was made */
    bool apart : 1;   /* no part of the function before: data in code, or what follows it */
    bool entered : 1; /* a function is entered here */
    bool follow : 1;  /* the stack pointer is to be followed */
    bool refuted : 1; /* by what following it finds */
    u8 marks;         /* enum frames_mark */
    u8 local;         /* the state as the piece itself tells it; OUT if it contradicts itself */
};
struct frames_edge { /* both have the same state */
    u32 from;        /* number of the piece */
    u32 to;          /* from the start of the run */
};

/* What is known before an instruction by following the stack pointer: a kind, and a value in the low byte. */
enum frames_flow {
    FLOW_NONE,  /* not reached */
    FLOW_OUT,   /* so many words above the return address; rbp is the caller's */
    FLOW_SAVED, /* so many words above the saved rbp, which lies on the return address */
    FLOW_IN,    /* rbp is the frame pointer */
    FLOW_RA,    /* the return address is in this register; rbp is the caller's */
    FLOW_LOST,
};
#define FRAMES_FLOW(kind, value) ((u16)((kind) << 8 | (value)))
#define FRAMES_FLOW_KIND(state)  ((state) >> 8)
#define FRAMES_FLOW_VALUE(state) ((state)&0xffu)

struct frames_run { /* the code that is read as one */
    const u8 *bytes;
    u32 len;
    u64 address, offset; /* of its start */
    const struct elf_file *elf;
    VEC(struct frames_piece) pieces; /* ascending */
    VEC(struct frames_edge) edges;
    VEC(u32) calls;   /* targets */
    VEC(u32) returns; /* where calls return to, ascending */
    u8 *starts;       /* bit i: an instruction begins at byte i */
    u16 *flow;        /* by byte, where instructions begin (FRAMES_FLOW); NULL: not followed */
};
void frames_run_free(struct frames_run *r);
/* Tells whether the n bytes at p begin with "[endbr64;] push rbp; mov rbp, rsp". */
bool frames_begin_here(const u8 *p, size_t n);

/* frames_read.c: decodes the run. Returns the number of instructions, or -ENOMEM. */
s64 frames_read(struct frames_run *r);
/* frames_solve.c: decides the states, and which pieces are bad. */
void frames_solve(struct frames_run *r);
/* Tells whether an instruction begins at a byte. */
static inline bool frames_starts(const struct frames_run *r, u32 at)
{
    return r->starts[at >> 3] >> (at & 7) & 1;
}
/* The byte behind a piece. */
static inline u32 frames_end(const struct frames_run *r, size_t piece)
{
    return piece + 1 < r->pieces.n ? r->pieces.v[piece + 1].at : r->len;
}
/* The piece that contains a byte; NULL: none. */
struct frames_piece *frames_piece_at(struct frames_run *r, u32 at);
/* frames_rows.c: adds the rows of a solved run to `out`. Returns 0 or -ENOMEM. */
struct synth;
int frames_rows(struct frames_run *r, struct synth *out);
/* frames_flow.c: follows the stack pointer from the pieces that are marked so. Returns 0 or -ENOMEM. */
int frames_flow(struct frames_run *r);
/* The number of the piece behind the function that begins with this one. */
size_t frames_function_end(const struct frames_run *r, size_t first);
