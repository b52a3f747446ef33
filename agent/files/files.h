/* Keeps the files with code on stacks: one entry per ID assigned by the kernel side, from the first notification to
 * symbolization. A file is built once: it is identified, taken from the cache or parsed (both in the parser process),
 * loaded into the shards, and published. Files with the same content share one table.
 *
 * Owned by one thread at a time: the worker while sampling, the main thread before and after.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "files/stretches.h"
#include "opener/hung.h"
#include "probe/probe.h"
#include <stdbool.h>

struct cache;
struct files;
struct opener;
struct parser;

/* An announcement with the opened file. It is opened early because the process may exit a moment later. */
struct file_job {
    struct xp_file_event event;
    int fd;     /* O_PATH; -1: it is not opened yet, or could not be */
    int error;  /* -errno of opening it */
    char *path; /* owned; NULL when unknown */
};

/* Opens the file with the opener of the calling thread, unless its file system is known not to answer (-EREMOTEIO). */
void file_job_open(struct file_job *job, struct opener *o, struct hung *h);

/* Has the parser of the calling thread read a file that may hang, before the worker does; notes if it hangs. */
void file_job_try(struct file_job *job, struct parser *p, struct hung *h);

struct file {
    u32 id;
    u64 owner;            /* whose share its table counts against: its first cgroup, or SHARES_ALL */
    u32 last_used;        /* last round of files_age in which a stack used it */
    struct xp_file value; /* as published */
    struct xp_file_key key;
    struct hung_place place;
    int fd;   /* O_PATH, for symbolization, while it is in use (hold.c); -1: none */
    u32 tgid; /* a process that maps it from `start` to `end`, as far as known */
    u64 start, end;
    u64 mapped_ns;   /* when that was last known; monotonic */
    u32 asked_round; /* since when the kernel side is asked who else maps it; 0: it is not */
    int error;       /* 0, or -errno: there is no table */
    bool local;      /* on a file system that no container serves: its key identifies its content */
    bool replaced;   /* announced again under another ID: this entry is for stacks in flight */
    u32 rows, bad_fdes, synth_rows;
    s64 mtime_ns, size; /* when it was opened */
    char *path;
    char build_id[41]; /* hex */
    bool synth_asked;  /* rows for the rest of its code were requested, built, or are not possible */
    u8 synth_tries;    /* attempts that failed because of the parser process or memory */
    bool synth_queued; /* for one of the two */
    u64 synth_asked_ns;
    struct stretches stretches;
};

/* Results for files where stacks stopped in code without unwind information: X(enum name, slug). */
#define FILES_SYNTH(X)        \
    X(DONE, "synthesised")    \
    X(KEPT, "kept")           \
    X(STRETCHES, "stretches") \
    X(NOTHING, "nothing")     \
    X(LEFT_OUT, "left-out")   \
    X(LIMIT, "limit")         \
    X(NO_ROOM, "no-room")     \
    X(FAILED, "failed")
enum files_synth {
#define FILES_SYNTH_ENUM(name, slug) FILES_SYNTH_##name,
    FILES_SYNTH(FILES_SYNTH_ENUM)
#undef FILES_SYNTH_ENUM
        FILES_SYNTH_COUNT
};

#define FILES_OF_CGROUP (XP_MAX_FILES / 4) /* limit for the files from stacks of one cgroup (files_share) */
/* The first three arguments are borrowed; `cache` may be NULL. `synth`: synthesise rows where stacks stop. Returns 0 or
 * -ENOMEM. */
int files_new(struct files **out, struct probe *probe, struct parser *parser, struct cache *cache, bool synth);
void files_free(struct files **f);
/* Opens files with `o`, and leaves those alone that `h` knows; both borrowed, NULL: none. */
void files_open_with(struct files *f, struct opener *o, struct hung *h);
/* Makes tables count against the share of the cgroup that brought their file (base/shares.h). Cgroups above their share
 * lose tables first. To be called before any file is built, if cgroups must not harm each other. */
void files_share(struct files *f);

/* Builds and publishes a file; takes ownership of the job's fd and path. Never fails: errors are stored in the
 * entry. */
void files_build(struct files *f, struct file_job *job);
/* Lets files be announced again that could not be opened some time ago. Cheap; call it often. */
void files_tick(struct files *f, u64 now_ns);
/* Ends a round; `used` has the files that stacks of this interval used. If tables, descriptors or entries run short,
 * the least recently used files are evicted; they are announced again when they are next seen. A recording, which is
 * symbolized at its end, never calls this. */
void files_age(struct files *f, const u32 *used, size_t n);
/* Tells whether some table found no room, so that the next files_age will make some. */
bool files_starved(const struct files *f);
/* Returns the number of files evicted so far. */
u32 files_evicted(const struct files *f);
/* Returns the keys of the files that the last files_age let go of: what else is open because of them should be closed.
 */
const struct xp_file_key *files_left(const struct files *f, size_t *n);
/* What is held open. */
struct files_held {
    u64 files, bytes;
    u64 deleted_bytes; /* of these, on disk, of files without any name */
};
struct files_held files_held(const struct files *f);
/* Requests synthesised rows for a file (synth.c), because a stack stopped in code that its table does not cover. */
void files_want_synth(struct files *f, u32 id, u64 offset);
/* Tells whether the file may still get such rows soon. Stacks that stopped there then wait for them. */
bool files_is_open(const struct files *f, u32 id);
/* files_synth_waiting tells whether there is such a file, and time for it. files_synth_one builds the new table of one
 * of them. That takes up to seconds, so call it when no other work is waiting. */
bool files_synth_waiting(struct files *f, u64 now_ns);
void files_synth_one(struct files *f);
/* Returns the number of files with this result. */
u64 files_synth_count(const struct files *f, enum files_synth what);
const char *files_synth_slug(enum files_synth what);
/* Builds the table of the vdso from its image; takes ownership of fd. */
void files_build_vdso(struct files *f, int fd);

/* Tells whether the file's file system is known not to answer; files_hung notes that it did not. Returns the time for
 * which it is left alone, in ns. */
bool files_is_hung(const struct files *f, const struct file *e);
u64 files_hung(struct files *f, const struct file *e);

/* Reads bytes of a file at an offset. Returns 0 or -errno. */
int files_read(struct files *f, const struct file *e, u64 offset, void *to, size_t len);

/* Returns NULL if the ID was never announced (the announcement was lost). */
const struct file *files_get(const struct files *f, u32 id);
/* Tells whether the file was modified since it was opened. Its names are then those of another program. */
bool files_changed(const struct file *f);
/* Returns all files in the order of their announcement. */
const struct file *files_all(const struct files *f, size_t *n);
