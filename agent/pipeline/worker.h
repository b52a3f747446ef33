/* The worker: builds tables in the order of the announcements, unwinds deferred stacks once their files are built, and
 * names what was counted in an interval. It owns the files, the names and the parser process while it runs; before
 * worker_start and after worker_stop they belong to the caller's thread. worker_figures is for any thread.
 */
#pragma once
#include "pipeline/figures.h"
#include "pipeline/jobs.h"
#include "pipeline/namer.h"

struct cache;
struct parser;
struct probe;
struct worker;

struct worker_config { /* borrowed */
    struct probe *probe;
    struct parser *parser;
    struct cache *cache; /* NULL: none */
    struct jobs *jobs;
    struct namer_config names; /* but for parser, files and cache */
    size_t aggregate_bytes;    /* budget of the stacks of one interval */
    bool neighbours;           /* files_share */
    bool no_synth;             /* no rows for code without unwind information */
    void *ctx;
    void (*profile)(void *ctx, const struct profile *p); /* on the worker's thread, for each span; NULL: none */
};

/* 0 or -ENOMEM. */
int worker_new(struct worker **out, const struct worker_config *config);
void worker_free(struct worker **w); /* stops it */

/* Builds one file, before the worker starts. Takes the job. */
void worker_build(void *worker, struct job *j);
/* The vdso, from the fd of its image (taken): no sample announces it, for it has no file. */
void worker_build_vdso(struct worker *w, int fd);
/* Starts the thread. 0 or -errno. */
int worker_start(struct worker *w);
/* Lets it finish the jobs that were put, and `last` (taken), and waits for its end. */
void worker_stop(struct worker *w, struct span *last);

/* After worker_stop: adds the deferred stacks to `stacks`, and counts them all. */
void worker_finish(struct worker *w, struct aggregate *stacks);
/* After worker_finish: names `s`, whose stacks stay the caller's, into an empty profile but for its comments. 0 or
 * -ENOMEM. */
int worker_name(struct worker *w, const struct span *s, struct profile *out);

/* Of the last interval that was named, from any thread. */
void worker_figures(const struct worker *w, struct worker_figures *out);
/* Of this moment: when the worker does not run. */
void worker_figures_now(const struct worker *w, struct worker_figures *out);
/* Path of a file that was announced, NULL: unknown. When the worker does not run; borrowed. */
const char *worker_path(const struct worker *w, u32 file);
/* Resident memory of this process and the parser when the worker ended, bytes: naming needs more for a moment. */
u64 worker_rss(const struct worker *w);
