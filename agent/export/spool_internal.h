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
    u64 cursor;      /* all records below it are acknowledged */
    u64 unread;      /* number of the next record to read */
    u64 gone;        /* later records that were removed from memory before older ones, on disk, were read */
    u64 segment, at; /* position of that record, if `segment` (its first number) exists and is not 0 */
    int cursor_fd;   /* -1: in memory only */
    int fd;          /* descriptor of the segment `open`, on disk */
    u64 open;
    unsigned failures; /* of the disk, since the last record that was read */
    struct spool_lost lost;
};

struct spool {
    pthread_mutex_t lock;
    struct spool_config config;
    int dirfd, lockfd;
    VEC(struct segment) segments; /* by number; records are appended to the last one if `writing` */
    bool writing;
    int fd; /* descriptor of the last segment, if on disk */
    u64 next_seq, disk_bytes, memory_bytes;
    u64 retry_disk_ns; /* monotonic */
    struct spool_reader readers[SPOOL_READERS];
    struct spool_stats stats;
    pthread_mutex_t shown_lock; /* of the copy that others read; never held while the disk is waited for */
    struct spool_stats shown;
};

/* Publishes the counters and releases the lock. */
void spool_unlock(struct spool *s);

/* These functions require the lock to be held. */
void reader_loses(struct spool_reader *r, const struct segment *g, bool age);
void reader_forgets(struct spool_reader *r, const struct segment *g); /* an open file would keep its blocks */
void reader_close(struct spool_reader *r);
/* Stops appending to the segment, if it is the one being written. */
void spool_end_segment(struct spool *s, const struct segment *g);
/* Removes the segments that all readers have finished. */
void spool_drop_read(struct spool *s);
