/* The options of `xprof record`. */
#pragma once
#include "cli/options/options.h"

#define RECORD_TIMELINE "timeline" /* -e */

struct record_options {
    /* the target: exactly one of these */
    bool all;
    struct option_numbers pids;
    const char *cgroup;
    char **command; /* NULL-terminated, inside argv; NULL: none */
    /* what to record */
    u64 frequency;           /* samples per second per CPU; 0: default of the event */
    u64 offcpu_min;          /* ns */
    const char *probe_links; /* the means by which probes are attached */
    const char *wait_stacks; /* the means by which they are taken */
    const char *offcpu_hide; /* "idle"; NULL: nothing */
    u64 memory_period;       /* bytes */
    u64 memory_max_cost;     /* percent; 0: no limit */
    bool memory_exact;
    bool leaks;
    u64 timeline_memory; /* bytes */
    u64 older_than;      /* ns; 0: without `leaks` */
    u64 duration_ns;     /* 0: until interrupted, or until the command ends */
    struct option_list events, labels;
    const char *value, *filter; /* of tracepoints; NULL: none */
    const char *cri_socket;     /* of the container runtime; NULL: the first known one */
    u64 period;                 /* the same; 0: none */
    u64 max_cost;               /* the same, in percent of a CPU; 0: no limit */
    bool capped;                /* that was given: it applies to all events */
    bool no_cap;
    bool no_kernel, no_user, runtime_only;
    bool threads;        /* root frames are names of threads */
    bool kernel_threads; /* their waits, too */
    /* outputs */
    struct option_list outputs;
    bool raw;
    const char *format; /* NULL: by each output's suffix */
    const char *summary;
    u64 top; /* rows of the table on the terminal; 0: not given */
    /* how */
    const char *cache_dir; /* NULL: the default one */
    bool no_cache;
    bool synth; /* derive rows for code without unwind information */
    bool short_names;
    struct option_list debug_dirs, debuginfod_urls;
    u64 table_memory; /* bytes of unwind tables in the kernel */
    bool verbose;
};

extern const struct command record_command;

/* Like options_parse; also checks that there is exactly one target and that the options are compatible. */
int record_options_parse(int argc, char **argv, struct record_options *out, struct buf *message);
void record_options_free(struct record_options *o);
