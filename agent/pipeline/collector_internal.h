/* Declarations shared by collector.c, announce.c and prepare.c: the state that the polling thread owns. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "pipeline/collector.h"
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
    unsigned hz_wanted;       /* atomic: set by collector_set_rate; 0: that of the configuration */
    unsigned hz;              /* atomic: rate in effect; 0: that of the configuration */
    u64 waits_ns;             /* time of the last look at waits */
    u64 waits_pause_ns;       /* until the next one */
    u64 rescan_ns;            /* time of the last check of CPUs and rate */
    u64 postponed_ns;         /* time of the last sample with a dump */
    VEC(u32) unwind_ns;       /* per sample, if measured; limited in number */
    struct collector_figures own, shown;
};

/* Handles the announcement of a file. Opens it at once, because its process may exit a moment later. */
void announce_file(void *collector, const struct xp_file_event *e);
/* Keeps what a file or peer is called. */
void announce_tag(void *collector, const struct xp_tag_event *e);
/* Pass the process or the file of this sample to the worker, unless that was done before. */
void announce_runtime(struct collector *c, const struct xp_sample *s);
void announce_code(struct collector *c, const struct xp_sample *s);
void announce_gap(struct collector *c, const struct xp_sample *s);
/* Queues the job of a file and takes ownership of it. If the queue is full, the file will be announced again. */
void announce_job(struct collector *c, struct job *j);

struct probe_handlers collector_handlers(struct collector *c);

/* ---- collector_figures.c ---- */
/* Keeps the time that the user stack of a sample took, if it was measured. */
void collector_note_unwind(struct collector *c, const struct xp_sample *s);
/* Shows what was counted so far to other threads. */
void collector_publish(struct collector *c);
