/* Declarations shared by collector.c, announce.c and prepare.c: the state that the polling thread owns. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "pipeline/collector.h"
#include "pipeline/frame_asks.h"
#include "pipeline/waits.h"

struct collector {
    struct collector_config config;
    struct xp_dump **dumps; /* per CPU: the dump that belongs to the next sample */
    int ncpus;
    struct aggregate *live; /* of the interval */
    struct waits waits;
    u64 span_ns;                /* when it began */
    VEC(struct job *) gathered; /* announcements during collector_prepare, before there is a worker */
    bool gathering;
    struct map runtimes_seen; /* processes passed to the worker, by a hash of their identity */
    struct map code_seen;     /* the same for those with generated code: time of the last report */
    struct map gap_seen;      /* files passed to the worker because stacks stopped in them */
    struct frame_asks asks;   /* frames of runtimes, to be named */
    unsigned hz_wanted;       /* atomic: set by collector_set_rate; 0: that of the configuration */
    unsigned hz;              /* atomic: rate in effect; 0: that of the configuration */
    u64 waits_ns;             /* time of the last look at waits */
    u64 waits_pause_ns;       /* until the next one */
    size_t told;              /* stacks that came since the last one */
    u64 rescan_ns;            /* time of the last check of CPUs and rate */
    u64 postponed_ns;         /* time of the last sample with a dump */
    VEC(u32) unwind_ns;       /* per sample, if measured; limited in number */
    struct collector_figures own, shown;
};

/* Handles the announcement of a file. Opens it at once, because its process may exit a moment later. */
void announce_file(void *collector, const struct xp_file_event *e);
/* Keeps the texts of code until frames of it are asked for. */
void announce_texts(void *collector, const struct xp_code_event *e);
/* Keeps what a file or peer is called. */
void announce_tag(void *collector, const struct xp_tag_event *e);
/* Pass the process or the file of this sample to the worker, unless that was done before. */
void announce_runtime(struct collector *c, const struct xp_sample *s);
void announce_code(struct collector *c, const struct xp_sample *s);
void announce_gap(struct collector *c, const struct xp_sample *s);
/* Has the process of a sample read for generated code, unless that was asked for just now. */
void announce_code_of(struct collector *c, const struct xp_sample *s);
/* Has the frames named that were noted. */
void announce_frames(struct collector *c);
/* Queues the job of a file and takes ownership of it. If the queue is full, the file will be announced again. */
void announce_job(struct collector *c, struct job *j);

struct probe_handlers collector_handlers(struct collector *c);
/* Passes on what is in the ring. Returns the number of records or -errno. */
int collector_poll_ring(struct collector *c, int timeout_ms);
void collector_count(struct collector *c, const struct xp_sample *s);

/* ---- collector_waits.c ---- */
/* Adds the waits of the interval to its stacks. Those still being unwound are waited for until `deadline_ns`. */
void collector_take_waits(struct collector *c, u64 deadline_ns);
/* The next interval begins with what is held of the last one. */
void collector_carry_over(struct collector *c);

/* ---- collector_figures.c ---- */
/* Keeps the time that the user stack of a sample took, if it was measured. */
void collector_note_unwind(struct collector *c, const struct xp_sample *s);
/* Shows what was counted so far to other threads. */
void collector_publish(struct collector *c);
