/* Provides names when an interval is symbolized, from three sources: known files (through the parser process), the maps
 * of runtimes, and kallsyms. The worker owns it while it runs; before and after that, the thread that starts the worker
 * and waits for it.
 */
#pragma once
#include "debug/search_paths.h"
#include "pipeline/figures.h"
#include "pipeline/jobs.h"
#include "profile/profile.h"

struct cache;
struct generated;
struct hung;
struct namer;
struct opener;
struct parser;

struct namer_config { /* borrowed */
    struct parser *parser;
    struct opener *opener;
    struct hung *hung;
    struct files *files;
    struct cache *cache;                            /* NULL: none on disk */
    const struct event_kind *events[XP_MAX_EVENTS]; /* of the profile's values, in the order of the sampler's events */
    size_t nevents;
    struct debug_sources debug;
    u64 heap_period;  /* as in probe_config */
    bool short_names; /* functions without argument lists */
    bool raw;         /* do not symbolize frames of files */
    bool hide_idle;   /* leave out blocked time of idle threads (profile/locks.h) */
    bool neighbours;  /* each cgroup has a share of the room for names of runtimes */
    bool again;       /* several intervals: names are kept from one to the next */
};

/* 0 or -ENOMEM. */
int namer_new(struct namer **out, const struct namer_config *config);
void namer_free(struct namer **n);

/* Notes a file that was built. The root of a process that maps it is kept open, because its debug file may be there. */
void namer_note_file(struct namer *n, const struct xp_file_event *e);
/* Adds a process whose runtime generates code; takes ownership. */
void namer_add_process(struct namer *n, struct runtime_process *p);
/* Takes the symbols of what was read of a process. */
void namer_add_code(struct namer *n, const struct code_job *job, const struct generated *code);
/* Takes the names of frames of a runtime. */
void namer_add_frames(struct namer *n, const struct names_job *job);
/* Symbolizes a span into a profile that is empty except for comments. Returns 0 or -ENOMEM. */
int namer_run(struct namer *n, const struct span *s, struct profile *out);
/* Ends an interval: drops what was not used in it. */
void namer_age(struct namer *n, u64 interval_ns);
/* Fills in lines, names, server and what names cost or changed. */
void namer_count(const struct namer *n, struct worker_figures *out);
