/* What the writers of files (trace.c, firefox.c) have in common: what is to be written, and where to.
 */
#pragma once
#include "base/buf.h"
#include "profile/profile.h"
#include "timeline/causes.h"
#include "timeline/samples.h"
#include "timeline/store.h"
#include "timeline/sink.h"

/* CPUs are the threads of one more process. No process has these numbers: PID_MAX_LIMIT is 4,194,304
 * (include/linux/threads.h). */
#define VIEW_CPUS   4194305u
#define VIEW_CPU(n) (VIEW_CPUS + 1 + (n))

struct tl_view {
    const struct tl_store *store;
    struct tl_causes *causes;
    struct tl_samples samples;
    struct profile *profile; /* names of whatever is written, and comments */
    u64 begin, end;          /* of what is told, CLOCK_MONOTONIC */
    u64 start_ns;            /* the beginning, Unix time */
    struct timeline_sink sink;
    struct buf buf; /* what is not written yet */
    int rc;         /* the first error; nothing is written after it */
};

/* Writes out what is in the buffer if that is much. */
void view_flush(struct tl_view *v, bool all);
/* Appends a time, or a duration, as a number with three decimals: in us, or in ms. */
void put_us(struct buf *out, u64 ns);
void put_ms(struct buf *out, u64 ns);
/* Writes "NAME (TID)". */
#define VIEW_WHO 32
void view_who(const struct tl_thread *t, char out[VIEW_WHO]);
/* Returns the name of the process that the thread is one of. */
const char *view_process(const struct tl_thread *t);

/* Appends the samples as events behind others of the array (trace_samples.c), and what they refer to behind it. */
int trace_put_samples(struct tl_view *v);
int trace_write(struct tl_view *v);   /* 0 or -errno */
int firefox_write(struct tl_view *v); /* the same */
