/* Keeps the files with code on stacks: one entry per id that the kernel side gave out, from the first notification to
 * symbolization. A file is built once: identified, taken from the cache or parsed (both in the parser process), put
 * into the shards, published. Files of the same content share one table.
 *
 * Owned by one thread at a time: the worker while sampling, the main thread before and after.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "probe/probe.h"
#include <stdbool.h>

struct cache;
struct files;
struct parser;

/* An announcement, with the file already opened: the process may be gone a moment later. */
struct file_job {
    struct xp_file_event event;
    int fd;     /* -1: it could not be opened */
    int error;  /* why not, -errno */
    char *path; /* owned; NULL when unknown */
};

struct file {
    u32 id;
    u64 owner;            /* whose share its table is a part of: the cgroup that brought it, or SHARES_ALL */
    u32 last_used;        /* number of the round of files_age in which a stack ran through it */
    struct xp_file value; /* as published */
    struct xp_file_key key;
    int fd;        /* kept for naming; -1 when there is none */
    int error;     /* 0, or why there is no table */
    bool replaced; /* announced again, under another id: this entry is for stacks on their way */
    u32 rows, bad_fdes, synth_rows;
    s64 mtime_ns, size; /* when it was opened */
    char *path;
    char build_id[41]; /* hex */
    bool synth_asked;  /* rows for the rest of its code are made, were made, or cannot be */
    u8 synth_tries;    /* that failed for want of a process or of memory */
    u64 synth_asked_ns;
};

/* What became of files whose code no unwind information covers, where stacks stopped there: X(enum name, slug). */
#define FILES_SYNTH(X)      \
    X(DONE, "synthesised")  \
    X(KEPT, "kept")         \
    X(NOTHING, "nothing")   \
    X(LEFT_OUT, "left-out") \
    X(LIMIT, "limit")       \
    X(NO_ROOM, "no-room")   \
    X(FAILED, "failed")
enum files_synth {
#define FILES_SYNTH_ENUM(name, slug) FILES_SYNTH_##name,
    FILES_SYNTH(FILES_SYNTH_ENUM)
#undef FILES_SYNTH_ENUM
        FILES_SYNTH_COUNT
};

#define FILES_OF_CGROUP (XP_MAX_FILES / 4) /* that the stacks of one cgroup may bring (files_share) */
/* All three are borrowed; `cache` may be NULL. `synth`: synthesise rows where stacks stop. 0 or -ENOMEM. */
int files_new(struct files **out, struct probe *probe, struct parser *parser, struct cache *cache, bool synth);
void files_free(struct files **f);
/* From now on the tables of what a cgroup brings are a part of its share (base/shares.h), and who holds more than its
 * share gives up tables first. For samplers of neighbours who must not harm each other; before any file is built. */
void files_share(struct files *f);

/* Builds and publishes; takes the job's fd and path. Never fails: what went wrong is in the entry. */
void files_build(struct files *f, struct file_job *job);
/* Lets files be announced again that could not be opened some time ago. Often, and cheap. */
void files_tick(struct files *f, u64 now_ns);
/* Ends a round: `use` is called for every file that a stack of this interval ran through. Those that were not used for
 * long give up table, descriptor and entry when one of the three runs short; at their next sight they are announced
 * again. A recording, which names everything at its end, never calls this. */
void files_age(struct files *f, const u32 *used, size_t n);
/* Files given up so far. */
u32 files_evicted(const struct files *f);
/* Stacks stopped in code of this file that its table does not cover: rows for it will be synthesised (synth.c).
 */
void files_want_synth(struct files *f, u32 id);
/* May it still get such rows, soon? Then stacks that stopped there wait for them. */
bool files_is_open(const struct files *f, u32 id);
/* Is there any such file, and time for it? Then one of them gets its new table, which takes seconds at most: to be
 * called when nobody waits for the caller. */
bool files_synth_waiting(struct files *f, u64 now_ns);
void files_synth_one(struct files *f);
/* How many files came to this. */
u64 files_synth_count(const struct files *f, enum files_synth what);
const char *files_synth_slug(enum files_synth what);
/* The vdso, from the fd of its image (taken). */
void files_build_vdso(struct files *f, int fd);

/* NULL when the id was never announced (its announcement was lost). */
const struct file *files_get(const struct files *f, u32 id);
/* Was it written to since it was opened? Then its names are those of another program. */
bool files_changed(const struct file *f);
/* In the order of their announcement. */
const struct file *files_all(const struct files *f, size_t *n);
