/* Shared by the files that read Perl (runtime/perl.h): its layout, its threads, its subs. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "proc/memory.h"
#include "proc/module.h"
#include "runtime/frame_reply.h"
#include "runtime/perl.h"

/* ---- Structures that are the same in all versions -------------------------------------------------------------- */

enum { /* SV (sv.h): offsets, types, and the flag of a CV that it is special; of a GV and of an HV that they have more
        */
       SV_FLAGS = 12,
       SV_U = 16,
       SV_TYPE = 0xff,
       SV_GV = 9,
       SV_AV = 11,
       SV_HV = 12,
       SV_CV = 13,
       SV_FORMAT = 14,
       SV_HAS_GP = 0x8000,
       SV_FAKE = 0x01000000,
       SV_HAS_AUX = 0x02000000,
};
enum { /* XPVCV (cv.h): offsets, and flags */
       CV_STASH = 32,
       CV_START = 40,
       CV_NAME = 56,
       CV_OUTSIDE = 80,
       CV_FLAGS = 92,
       CV_DEPTH = 96,
       CV_UNIQUE = 0x100,
       CV_COMPILED = 0x800, /* CVf_SLABBED: it still is, and the start is none yet */
       CV_NAMED = 0x8000,
       CV_LEXICAL = 0x10000,
};
enum { /* OP and COP (op.h, cop.h) */
       OP_NEXT = 0,
       OP_FUNCTION = 16,
       OP_TARGET = 24,
       OP_TYPE = 32,
       OP_TYPES = 512,
       COP_LINE = 36,
       COP_FILE = 48,
};

/* The type of an SV, with all flags; 0: it cannot be read. */
static inline u32 perl_flags(struct memory *m, u64 sv)
{
    bool ok = sv && sv % 8 == 0;
    return (u32)memory_u(m, sv + SV_FLAGS, sizeof(u32), &ok);
}
static inline bool perl_is(struct memory *m, u64 sv, u32 type)
{
    return (perl_flags(m, sv) & SV_TYPE) == type;
}

/* ---- The layout: perl_layout.c ---------------------------------------------------------------------------------- */

struct perl_found {
    struct perl p;
    struct module module;
    u64 interpreter; /* the first one; PLAIN: what its variables are relative to */
    u64 key;         /* THREADS: PL_thr_key */
    u32 threads;     /* that have an interpreter, as far as they were looked at */
};
/* Fills in all but where a thread has its interpreter. 0; -ENODATA: no Perl; -EAGAIN: it still starts; -ENOTSUP. */
int perl_layout(struct memory *m, struct perl_found *f);
/* Tells whether an interpreter is at this address. */
bool perl_is_interpreter(struct memory *m, const struct xp_perl *p, u64 at);

/* ---- Threads: perl_threads.c ------------------------------------------------------------------------------------ */

/* Finds where a thread has its interpreter. 0 or -ENOTSUP. */
int perl_threads(struct memory *m, struct perl_found *f);

/* ---- Subs: perl_sub.c ------------------------------------------------------------------------------------------- */

struct perl_mark {
    u32 cookie; /* as the unwinder computes it */
    bool over;  /* a file, or text, that has run: its statements are gone, also if subs in it keep its CV */
};
struct perl_sub {
    u32 name; /* offset in texts; 0: it cannot be read */
    u32 file; /* of its first statement */
    struct perl_mark mark;
};

struct perl_query { /* one request */
    struct memory *m;
    const struct perl *p;
    struct frame_reply reply;
    struct map subs; /* address of a CV -> 1 + index of `known` */
    VEC(struct perl_sub) known;
    struct map files; /* address of a name -> its offset in texts */
};

/* What tells whether a CV is still the same one. False: it is none, or it cannot be read. */
bool perl_mark(struct memory *m, const struct perl *p, u64 cv, struct perl_mark *out);
/* Reads a CV once. NULL: out of memory. Valid until the next call. */
const struct perl_sub *perl_sub(struct perl_query *q, u64 cv);
/* The file and line of a COP. False: it is none. */
bool perl_place(struct perl_query *q, u64 cop, u32 *file, u32 *line);

/* ---- The process: perl.c ---------------------------------------------------------------------------------------- */

/* Finds the interpreter of a process. Returns what runtime_memory_ops.attach does. */
int perl_find(struct memory *m, struct perl_found *out);

/* ---- What inspect says: perl_about.c ---------------------------------------------------------------------------- */

/* See runtime_memory_ops.about. */
int perl_about(struct memory *m, struct buf *out);
