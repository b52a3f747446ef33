/* The spool: records in the order they were put, each numbered, in segments; readers that each have a place in it.
 *
 * A segment is a file NUMBER.seg (the number of its first record, in hex), only appended to: a header of 16 bytes
 * (magic, version), then records of head and body. Head and body have a checksum each: a damaged body costs one record,
 * a damaged head the rest of its segment, a tail torn by a crash is cut off when the spool is opened. While the disk
 * does not take writes a segment is a buffer in memory, in the same format. A reader's place is the file NAME.cursor,
 * one line that is written over in one piece, with a checksum; a reader whose file is damaged begins at the oldest.
 *
 * Order is by number, never by time. A segment goes when all readers are past it, when it is too old, or when its bytes
 * are needed; what a reader had not read of it is counted for that reader. One process at a time (flock). Any thread:
 * writer and readers meet in one lock, held for one read or write of the page cache.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct spool;
struct spool_reader;

struct spool_config {
    const char *dir; /* NULL: memory only */
    u64 max_bytes, max_age_ns, memory_bytes;
    bool sync_each;
};

struct spool_record {
    u64 seq, wall_ns; /* number; when it was put */
    u64 segment, at;  /* where it lies: for spool_reread */
    struct buf body;  /* owned by who passes it; used again by the next read */
};

struct spool_lost { /* pushed out before the reader read it; not to be read any more */
    u64 full, full_bytes, age, age_bytes, corrupt;
};

struct spool_stats {
    u64 put, put_bytes, disk_bytes, memory_bytes, segments, corrupt, disk_errors;
    char error[256];
};

/* 0; -EBUSY: another process has it; -ENOMEM. A folder that cannot be used makes it a spool in memory. */
int spool_new(struct spool **out, const struct spool_config *config);
void spool_free(struct spool **s);
void spool_limits(struct spool *s, const struct spool_config *config); /* all but the folder and sync_each */

/* 0 or -ENOMEM. `wall_ns`: now, by the wall clock. Without readers nothing is kept. */
int spool_put(struct spool *s, const void *body, size_t len, u64 wall_ns);
void spool_stats(struct spool *s, struct spool_stats *out);

/* The reader of that name, at its place; a new one begins behind the last record. Owned by the spool. -ENOSPC: too
 * many, -ENAMETOOLONG. */
int spool_reader_open(struct spool *s, const char *name, struct spool_reader **out);
/* Forgets it and its place. */
void spool_reader_remove(struct spool *s, struct spool_reader **r);

/* The next record that was not read yet; -ENODATA: none; -EBADMSG: it is damaged (seq and body.len say what is lost);
 * it is passed over. -EIO: it cannot be read now. */
int spool_next(struct spool *s, struct spool_reader *r, struct spool_record *out);
/* The record at `segment` and `at` again. -ENOENT: it was pushed out. */
int spool_reread(struct spool *s, struct spool_reader *r, struct spool_record *rec);
/* Everything below `seq` is done with; UINT64_MAX: everything that was read. */
void spool_commit(struct spool *s, struct spool_reader *r, u64 seq);
/* Records not read yet, and when the oldest of them was put (0: unknown). */
u64 spool_unread(struct spool *s, struct spool_reader *r, u64 *oldest_ns);
/* What was lost since the last call. */
void spool_take_lost(struct spool *s, struct spool_reader *r, struct spool_lost *out);
