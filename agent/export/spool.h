/* The spool stores numbered records in segments, in the order in which they were put. Each reader has a cursor.
 *
 * A segment is an append-only file NUMBER.seg, named by the number of its first record in hexadecimal: a header of 16
 * bytes (magic, version), then records, each with a head and a body. Head and body have separate checksums: a damaged
 * body loses one record, a damaged head the rest of its segment. A tail torn by a crash is truncated when the spool is
 * opened. While the disk accepts no writes, segments are buffers in memory with the same format. A reader's cursor is
 * stored in the file NAME.cursor: one line with a checksum, overwritten by a single write. A reader whose file is
 * damaged starts at the oldest record.
 *
 * Records are ordered by number, never by time. A segment is removed when all readers are past it, when it is too old,
 * or when its space is needed; records that a reader had not read are counted as lost for that reader. Only one process
 * can open a spool (flock). All functions are thread-safe. One lock is held while the disk is read and written, which
 * may take long; only spool_stats never waits for it.
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
    u64 max_bytes;   /* of the disk: whole blocks of all files */
    u64 max_age_ns, memory_bytes;
    bool sync_each;
};

struct spool_record {
    u64 seq, wall_ns; /* number; time of the put */
    u64 segment, at;  /* position, for spool_reread */
    struct buf body;  /* owned by the caller; reused by the next read */
};

struct spool_lost { /* records removed before they were read, or unreadable */
    u64 full, full_bytes, age, age_bytes, corrupt;
};

struct spool_stats {
    u64 put, put_bytes, disk_bytes, memory_bytes, segments, corrupt, disk_errors;
    char error[256];
};

/* Returns 0; -EBUSY: another process has it open; -ENOMEM. With an unusable directory the spool is kept in memory. */
int spool_new(struct spool **out, const struct spool_config *config);
void spool_free(struct spool **s);
void spool_limits(struct spool *s, const struct spool_config *config); /* all except dir and sync_each */

/* Appends a record; `wall_ns` is the current wall-clock time. Without readers nothing is kept. Returns
 * 0; -E2BIG: larger than the whole spool; or -ENOMEM. */
int spool_put(struct spool *s, const void *body, size_t len, u64 wall_ns);
void spool_stats(struct spool *s, struct spool_stats *out);

/* Opens the reader of that name at its cursor; a new reader starts after the last record. The spool owns it. Returns 0;
 * -ENOSPC: too many readers; -ENAMETOOLONG. */
int spool_reader_open(struct spool *s, const char *name, struct spool_reader **out);
/* Removes a reader and its cursor. */
void spool_reader_remove(struct spool *s, struct spool_reader **r);

/* Reads the next unread record. Returns 0; -ENODATA: there is none; -EBADMSG: it is damaged and skipped (seq and
 * body.len tell what is lost); -EIO: it cannot be read now. */
int spool_next(struct spool *s, struct spool_reader *r, struct spool_record *out);
/* Reads the record at `segment` and `at` again. -ENOENT: it was removed. */
int spool_reread(struct spool *s, struct spool_reader *r, struct spool_record *rec);
/* Acknowledges all records below `seq`; UINT64_MAX: all that were read. */
void spool_commit(struct spool *s, struct spool_reader *r, u64 seq);
/* Returns the number of unread records, and when the oldest of them was put (0: unknown). */
u64 spool_unread(struct spool *s, struct spool_reader *r, u64 *oldest_ns);
/* Returns what was lost since the last call. */
void spool_take_lost(struct spool *s, struct spool_reader *r, struct spool_lost *out);
