/* Follows the allocators of wanted processes (kind `memory`), the places where their goroutines wait for locks (kind
 * `lock`), or functions of files by name (probes of the configuration): finds them in each file that such a process
 * maps, and has the kernel side attach to them, one process and file at a time. A thread of its own does this for each
 * kind, because files may not answer; it has an opener and a parser process.
 */
#pragma once
#include "pipeline/figures.h"
#include "pipeline/heap_files.h"
#include "pipeline/waits.h"
#include "probe/probe.h"
#include "profile/leaks.h"

struct heaps;
struct hung;

enum heaps_go {
    HEAPS_GO_NOT,         /* what programs in Go allocate is not read */
    HEAPS_GO_FOLLOWED,    /* what they allocate while they are followed */
    HEAPS_GO_SINCE_START, /* and before */
};
struct heaps_config {
    struct probe *probe;              /* borrowed, like `hung` */
    size_t event;                     /* the number of the kind */
    const char *name;                 /* its name; constant */
    heap_files_read *read;            /* finds what is followed of it in a file */
    const struct probe_places *named; /* instead: it is followed by name; borrowed */
    struct hung *hung;
    unsigned max_cost; /* what probes may cost a process, in percent of its own CPU time; 0: there is no limit */
    bool strict;       /* probe_event.strict */
    bool neighbours;   /* what goes on belongs to several containers, and intervals follow each other */
    u64 old_ns;        /* age of blocks that may have leaked; 0: nobody wants to know */
    enum heaps_go go;
};
/* The thread starts at once. Returns 0, -ENOMEM or another -errno. */
int heaps_new(struct heaps **out, const struct heaps_config *config);
void heaps_free(struct heaps **h);

/* Has `other` follow each process that is stopped because of `h`, before that goes on. To be called
 * before anything is put. Returns 0 or -ENOMEM. */
int heaps_lead(struct heaps *h, struct heaps *other);
/* A process mapped a file, or was born; tgid 0: look at all that are wanted. Any thread may call it. */
void heaps_put(struct heaps *h, const struct xp_mapped_event *e);
/* Whether all that was put is done. */
bool heaps_settled(const struct heaps *h);
/* Nothing counts from here on; ends the thread, detaches from all processes, and lets go of those that are stopped. */
void heaps_stop(struct heaps *h);

/* Passes what has been read of programs in Go since the last call, and begins a profile interval: go_heaps.h. Any
 * thread may call these. */
void heaps_take(struct heaps *h, waits_use *use, void *ctx);
void heaps_begin(struct heaps *h);

/* Any thread may call it. */
void heaps_figures(struct heaps *h, struct heaps_figures *out);
/* After heaps_stop: returns the leaks, those that grow fastest first; NULL: nobody wanted to know. */
const leaks_list *heaps_leaks(const struct heaps *h);
