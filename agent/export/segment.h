/* One segment of the spool, a file or a buffer in memory of the same format: append at its end, read at an offset.
 * Nothing here locks or counts; the spool does (spool.h describes the format).
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
    u64 first, next; /* numbers: of its first record, behind its last */
    u64 bytes;       /* header and whole records */
    u64 newest_ns;
    bool disk;
    struct buf memory;
};

/* A new, empty one: a file in dirfd (its fd for appending goes to *fd), or in memory with dirfd < 0. 0 or -errno. */
int segment_create(struct segment *g, int dirfd, u64 first, int *fd);
/* All of the record, or nothing: a part that was written is cut off. 0 or -errno. */
int segment_append(struct segment *g, int fd, const struct record_head *h, const void *body);
/* Finds out what a file holds: g->first is given. With `repair` also bodies are checked, and what is torn at the end
 * is cut off. The number of damaged places (0, or 1), or -errno. */
int segment_load(struct segment *g, int dirfd, bool repair);
void segment_remove(struct segment *g, int dirfd);

/* An fd for reading a segment on disk. */
int segment_open(const struct segment *g, int dirfd);
/* The head at `at`. 0, -ENODATA at the end, -EBADMSG, or -errno. fd is unused in memory. */
int segment_head(const struct segment *g, int fd, u64 at, struct record_head *out);
/* Its body, checked: replaces what `body` held. 0, -EBADMSG, -ENOMEM or -errno. */
int segment_body(const struct segment *g, int fd, u64 at, const struct record_head *h, struct buf *body);

struct record_head record_head_of(u64 seq, u64 wall_ns, const void *body, size_t len);
/* At most `len` bytes of a head and its body, as found in a file: their whole length, or -ENODATA (cut short) or
 * -EBADMSG. */
long record_check(const void *data, size_t len);
