/* What agent.c and agent_*.c share. */
#pragma once
#include "agent.h"
#include "base/map.h"
#include "base/queue.h"
#include "debug_file.h"
#include "jit_maps.h"
#include "late.h"
#include "parser/parser.h"
#include "profile/aggregate.h"
#include <pthread.h>

struct cache;
struct kallsyms;
struct named;

struct span { /* what was counted in an interval */
    struct aggregate *stacks;
    u64 time_ns; /* wall clock when it began, ns since 1970 */
    u64 duration_ns;
};

enum job_kind { JOB_FILE, JOB_LATE, JOB_SPAN, JOB_JIT, JOB_GAP };
struct job { /* for the worker: a file to build, a stack to unwind later, an interval to name, a process with a JIT, a
              * file in whose code a stack stopped */
    enum job_kind kind;
    union {
        struct file_job file;
        struct late_job late;
        struct span span;
        struct jit_process *jit;
        u32 gap;
    };
};
void job_free(struct job *j);

struct tally { /* sums over everything named so far */
    u64 user_samples, complete, dropped;
    u64 cause[XP_CAUSE_COUNT];
};

struct figures { /* u64s and nothing else */
    struct tally tally;
    u64 files, failed_files, evicted_files, rows, synth_rows, late, map_bytes, cut_names;
    u64 synth[FILES_SYNTH_COUNT];
    struct line_indexes_stats lines;
    struct debuginfod_stats server;
};

struct agent {
    struct agent_config config;
    struct probe *probe;
    struct parser *parser;
    struct cache *cache;
    struct files *files; /* the worker's while it runs */
    struct late *late;   /* the same */
    struct queue *jobs;
    pthread_t worker;
    bool working;
    VEC(struct job *) gathered; /* announcements during agent_prepare, before there is a worker */
    bool gathering;
    struct xp_dump **dumps; /* per CPU: the dump whose sample comes next */
    int ncpus;
    struct aggregate *live;           /* the collector's */
    struct aggregate *late_aggregate; /* the worker's; merged by agent_stop */
    struct kallsyms *kernel;          /* NULL: not needed yet, or not to be had */
    bool kernel_asked;
    struct debug_places places;
    struct line_indexes *lines;
    u64 cut_names;
    struct { /* what the parser said of the file asked for last */
        u32 id;
        bool known;
        struct facts facts;
    } segments;
    struct jit_maps *jit; /* the worker's */
    struct map jit_seen;  /* processes that were handed to it, by a hash of who they are; the collector's */
    struct map gap_seen;  /* files that were handed to it because stacks stopped in them; the collector's */
    struct named *named;  /* with a sink: the worker's */
    u64 created_ns, started_ns, stopped_ns, rescan_ns;
    unsigned hz, hz_wanted;   /* of clocks; what agent_set_rate asked for, 0: what the configuration says */
    unsigned share;           /* percent of it */
    u64 span_ns;              /* when the interval began */
    struct span last;         /* agent_stop's, for the worker to end with */
    struct tally tally;       /* the worker's */
    struct figures shown;     /* by the worker after each interval, for agent_vitals; words are read one by one */
    u64 seen, user, complete; /* for the progress line */
    u64 queue_full;           /* announcements that found no place: they are made again */
    u64 malformed;            /* samples shorter than they say */
    u64 deadline_ns;          /* of table building, once sampling ended; 0: none */
    u64 postponed_ns;         /* when the last sample with a dump came */
    u64 rss_bytes;            /* when sampling ended: naming needs more for a moment */
    VEC(u32) unwind_ns;       /* of each sample, when measured; bounded */
};

void *agent_worker(void *agent);
/* Names what was counted, into an empty profile but for its comments. The thread that owns parser and files. */
int agent_name(struct agent *a, const struct span *s, struct profile *out);
/* Line indexes, and where debug files are looked for. 0 or -ENOMEM. */
int agent_open_lines(struct agent *a);
void agent_close_lines(struct agent *a);
/* A file that was just built: the root of the process that has it mapped is held while there is one. */
void agent_note_debug_file(struct agent *a, const struct xp_file_event *e);
/* The span that ends now; the collector counts into a new one. NULL stacks: no memory. */
struct span agent_take_span(struct agent *a);
void agent_count_stacks(const struct agent *a, const struct aggregate *stacks, struct tally *t);
/* The cause of a stack, seen once more when sampling ended (aggregate_judge). */
u8 agent_judge(void *agent, const struct agg_stack *s);
/* What the worker holds, for agent_vitals. */
void agent_show_figures(struct agent *a);
/* Resident memory of this process and of the parser, bytes. */
u64 agent_rss(const struct agent *a);
