/* Files with more code without unwind information than can be analysed as a whole: rows for the stretches of their code
 * (synth/synth.h) that stacks stop in. Each time that more are wanted, the table is built anew, with all of them. How
 * many a file and a cgroup may want is limited, and each table must be earned by a pause. What was read is kept on disk
 * (synth/stretch_image.h), for the same inode while it is not changed.
 */
#pragma once
#include "base/shares.h"
#include "base/vec.h"
#include "bpf/types.h"
#include <stdbool.h>

#define STRETCHES_LEAST  (16u << 20) /* bytes of a file that may need them */
#define STRETCHES_KEEP   8           /* what is on disk is replaced when it has grown by this part */
#define STRETCHES_MAX    4096        /* of a file: 1 GB of code */
#define STRETCHES_ALL    (64u << 10) /* of all files; each cgroup has its share */
#define STRETCHES_TRIES  4           /* that bring no row; then the file is given up */
#define STRETCHES_LIMIT  (1u << 17)  /* numbers: offsets have 35 bits */
#define STRETCHES_PAUSE  4 /* at first there is much to read, later little: a pause is this part of the time so far */
#define STRETCHES_MIN_NS 100000000ull
#define STRETCHES_MAX_NS 60000000000ull

struct stretches {   /* of a file; {0} at first */
    VEC(u32) wanted; /* ascending */
    size_t read;     /* how many of them the table was built with */
    size_t kept;     /* how many of them are on disk */
    bool on;         /* the code is too much to be analysed as a whole */
    bool done;       /* some table had rows */
    u8 vain;         /* tables without rows so far */
    u64 began_ns;    /* when that was found out */
    u64 due_ns;      /* not before */
};

/* A stack stopped at this offset. Returns whether its stretch is a new one. `all`: of STRETCHES_ALL. */
bool stretches_note(struct stretches *s, struct shares *all, u64 owner, u64 offset);
/* Tells whether a table may be built now. */
bool stretches_due(const struct stretches *s, u64 now_ns);
/* From now on, the file is read by stretches. */
void stretches_begin(struct stretches *s, u64 now_ns);
/* The last table took so long: sets the time of the next one. */
void stretches_pause(struct stretches *s, u64 took_ns, u64 now_ns);
void stretches_free(struct stretches *s, struct shares *all, u64 owner);
