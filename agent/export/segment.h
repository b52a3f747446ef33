/* One segment of the spool: a file, or a buffer in memory with the same format. Records are appended at the end and
 * read at an offset. Locking and counting are left to the spool (spool.h describes the format).
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include <stdbool.h>

enum { SEGMENT_HEADER = 16, RECORD_HEAD = 40, RECORD_MAX = 64 << 20 };

struct record_head { /* as it is stored, little-endian */
    u32 magic, len;  /* of the body */
    u64 seq, wall_ns;
    u64 body_check, head_check;
};
_Static_assert(sizeof(struct record_head) == RECORD_HEAD, "the format");

struct segment {
    u64 first, next; /* numbers: of its first record, and one past its last */
    u64 bytes;       /* header and complete records */
    u64 newest_ns;
    bool disk;
    struct buf memory;
};

/* Creates an empty segment: a file in dirfd (*fd is set to its descriptor for appending), or in memory with dirfd < 0.
 * Returns 0 or -errno. */
int segment_create(struct segment *g, int dirfd, u64 first, int *fd);
/* Appends the whole record or nothing: a partial write is truncated. Returns 0 or -errno. */
int segment_append(struct segment *g, int fd, const struct record_head *h, const void *body);
/* Reads the state of a segment file; the caller sets g->first. With `repair`, the bodies are also checked and a torn
 * record at the end is truncated. Returns the number of damaged places (0 or 1), or -errno. */
int segment_load(struct segment *g, int dirfd, bool repair);
void segment_remove(struct segment *g, int dirfd);

/* Opens a segment on disk for reading; returns its descriptor. */
int segment_open(const struct segment *g, int dirfd);
/* Reads the head at offset `at`. Returns 0, -ENODATA at the end, -EBADMSG, or another -errno. fd is not used for
 * segments in memory. */
int segment_head(const struct segment *g, int fd, u64 at, struct record_head *out);
/* Reads and checks the body of that head, replacing the contents of `body`. Returns 0, -EBADMSG, -ENOMEM or another
 * -errno. */
int segment_body(const struct segment *g, int fd, u64 at, const struct record_head *h, struct buf *body);

struct record_head record_head_of(u64 seq, u64 wall_ns, const void *body, size_t len);
/* Checks a head and its body in at most `len` bytes from a file. Returns their length, -ENODATA (truncated) or
 * -EBADMSG. */
long record_check(const void *data, size_t len);
