/* Declarations shared by collector.c, announce.c and prepare.c: the state that the polling thread owns. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "pipeline/collector.h"

struct collector {
    struct collector_config config;
    struct xp_dump **dumps; /* per CPU: the dump whose sample comes next */
    int ncpus;
    struct aggregate *live;     /* of the interval */
    u64 span_ns;                /* when it began */
    VEC(struct job *) gathered; /* announcements during collector_prepare, before there is a worker */
    bool gathering;
    struct map runtimes_seen; /* processes handed to the worker, by a hash of who they are */
    struct map gap_seen;      /* files handed to it because stacks stopped in them */
    unsigned hz_wanted;       /* atomic: by collector_set_rate; 0: the configuration's */
    unsigned hz, share;       /* in effect, 0: the configuration's; percent of it */
    u64 rescan_ns;            /* when CPUs and rate were last looked at */
    u64 postponed_ns;         /* when the last sample with a dump came */
    VEC(u32) unwind_ns;       /* of each sample, when measured; bounded */
    struct collector_figures own, shown;
};

/* A file was announced: it is opened now, for its process may be gone a moment later. */
void announce_file(struct collector *c, const struct xp_file_event *e);
/* The worker has to look at the process or file of this sample, if it has not done so. */
void announce_runtime(struct collector *c, const struct xp_sample *s);
void announce_gap(struct collector *c, const struct xp_sample *s);
/* Takes the job of a file; when there is no place for it the file is announced again. */
void announce_job(struct collector *c, struct job *j);

struct probe_handlers collector_handlers(struct collector *c);
