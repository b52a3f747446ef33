/* The worker builds tables in the order of the announcements, unwinds deferred stacks once their files are built, and
 * symbolizes intervals. While it runs, it owns the files, the names and the parser process; before worker_start and
 * after worker_stop they belong to the caller's thread. Any thread may call worker_figures.
 */
#pragma once
#include "pipeline/figures.h"
#include "pipeline/jobs.h"
#include "pipeline/namer.h"

struct cache;
struct parser;
struct hung;
struct opener;
struct probe;
struct worker;

struct worker_config { /* borrowed */
    struct probe *probe;
    struct parser *parser;
    struct opener *opener;
    struct hung *hung;
    struct cache *cache; /* NULL: none */
    struct jobs *jobs;
    struct namer_config names; /* except parser, opener, hung, files and cache */
    size_t aggregate_bytes;    /* memory budget for the stacks of an interval */
    u32 timed;                 /* as in struct collector_config */
    bool neighbours;           /* files_share */
    bool no_synth;             /* do not derive rows for code without unwind information */
    void *ctx;
    void (*profile)(void *ctx, const struct profile *p); /* called by the worker's thread per span; may be NULL */
};

/* 0 or -ENOMEM. */
int worker_new(struct worker **out, const struct worker_config *config);
void worker_free(struct worker **w); /* stops it */

/* Builds one file before the worker starts. Takes ownership of the job. */
void worker_build(void *worker, struct job *j);
/* Builds the table of the vdso from its image (takes ownership of fd). The vdso has no file, so no sample announces
 * it. */
void worker_build_vdso(struct worker *w, int fd);
/* Starts the thread. 0 or -errno. */
int worker_start(struct worker *w);
/* Lets the worker finish the queued jobs and `last` (takes ownership), and waits for its end. */
void worker_stop(struct worker *w, struct span *last);

/* After worker_stop: adds the deferred stacks to `stacks` and counts all stacks. */
void worker_finish(struct worker *w, struct aggregate *stacks);
/* After worker_finish: symbolizes `s`, whose stacks the caller keeps, into a profile that is empty except for comments.
 * Returns 0 or -ENOMEM. */
int worker_name(struct worker *w, const struct span *s, struct profile *out);

/* Returns the counters as of the last symbolized interval. Any thread may call it. */
void worker_figures(const struct worker *w, struct worker_figures *out);
/* Tells whether the worker keeps up. Any thread may call it. */
void worker_lag(const struct worker *w, struct worker_lag *out);
/* Returns the current counters. Only while the worker does not run. */
void worker_figures_now(const struct worker *w, struct worker_figures *out);
/* Returns the path of an announced file (borrowed); NULL: unknown. Only while the worker does not run. */
const char *worker_path(const struct worker *w, u32 file);
/* Returns the resident memory of this process and the parser at the end of the worker, in bytes. Symbolization briefly
 * needs more. */
u64 worker_rss(const struct worker *w);
