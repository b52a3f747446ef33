/* Declarations shared by the two halves of the spool: spool.c writes and enforces limits, spool_reader.c reads. */
#pragma once
#include "base/vec.h"
#include "export/segment.h"
#include "export/spool.h"
#include <pthread.h>

enum { SPOOL_READERS = 32, CURSOR_LINE = 64 };

struct spool_reader {
    bool used;
    char name[64];
    u64 cursor;      /* everything below was answered for */
    u64 unread;      /* the next number to read */
    u64 gone;        /* records behind it that were pushed out of memory before older ones, on disk, were read */
    u64 segment, at; /* where that lies, when `segment` (its first number) is there and not 0 */
    int cursor_fd;   /* -1: in memory only */
    int fd;          /* of the segment `open`, on disk */
    u64 open;
    struct spool_lost lost;
};

struct spool {
    pthread_mutex_t lock;
    struct spool_config config;
    int dirfd, lockfd;
    VEC(struct segment) segments; /* by number; the last is appended to if `writing` */
    bool writing;
    int fd; /* of that one, if on disk */
    u64 next_seq, disk_bytes, memory_bytes;
    u64 retry_disk_ns; /* monotonic */
    struct spool_reader readers[SPOOL_READERS];
    struct spool_stats stats;
};

/* These expect the lock to be held. */
void reader_loses(struct spool_reader *r, const struct segment *g, bool age);
void reader_forgets(struct spool_reader *r, const struct segment *g); /* an open file would keep its blocks */
void reader_close(struct spool_reader *r);
/* Nothing more is appended to it, if it is the one that is written. */
void spool_end_segment(struct spool *s, const struct segment *g);
/* Removes the segments that all readers have done with. */
void spool_drop_read(struct spool *s);
