/* Provides names when an interval is symbolized, from three sources: known files (through the parser process), the maps
 * of runtimes, and kallsyms. The worker owns it; before the worker starts and after it ended, whoever waited for it.
 */
#pragma once
#include "debug/search_paths.h"
#include "pipeline/figures.h"
#include "pipeline/jobs.h"
#include "profile/profile.h"

struct cache;
struct namer;
struct parser;

struct namer_config { /* borrowed */
    struct parser *parser;
    struct files *files;
    struct cache *cache;                            /* NULL: none on disk */
    const struct event_kind *events[XP_MAX_EVENTS]; /* of the profile's values, in the order of the sampler's */
    size_t nevents;
    struct debug_sources debug;
    bool short_names; /* without argument lists */
    bool raw;         /* frames of files stay without names */
    bool again;       /* intervals follow one another: names are kept from one to the next */
};

/* 0 or -ENOMEM. */
int namer_new(struct namer **out, const struct namer_config *config);
void namer_free(struct namer **n);

/* A file was built: the root of the process that has it mapped is held while there is one, for its debug file may be
 * there. */
void namer_note_file(struct namer *n, const struct xp_file_event *e);
/* Takes a process whose runtime makes code. */
void namer_add_process(struct namer *n, struct runtime_process *p);
/* Names what was counted, into an empty profile but for its comments. 0 or -ENOMEM. */
int namer_run(struct namer *n, const struct span *s, struct profile *out);
/* The interval ended: lets go of what was not asked for in it. */
void namer_age(struct namer *n);
/* Fills in lines, server and cut_names. */
void namer_count(const struct namer *n, struct worker_figures *out);
