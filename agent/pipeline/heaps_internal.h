/* Declarations shared by heaps.c, heaps_watch.c, heaps_leaks.c and heaps_go.c: the state of the thread. */
#pragma once
#include "pipeline/go_heaps.h"
#include "pipeline/heap_cost.h"
#include "pipeline/heaps.h"
#include <pthread.h>

struct followed { /* a file in a process */
    u32 file;     /* its ID, which changes when the file does: it is attached to once all the same */
    u64 dev, ino;
    bool refused; /* by the kernel */
    struct probe_heap_links links;
};
struct process {
    u32 tgid, place; /* place: in the kernel side's list of processes */
    u64 start;
    struct heap_cost cost;
    VEC(struct followed) files;
};

struct heaps {
    struct heaps_config config;
    struct probe *probe; /* as in config */
    size_t event;
    struct probe_heap_hits prices; /* of probes, in ns */
    bool priced;
    struct queue *queue;
    pthread_t thread;
    bool runs;
    bool ending; /* atomic */
    u64 put, done;
    VEC(struct heaps *) led;  /* heaps_lead; borrowed */
    u32 wants;                /* probe_heap_wants when all were seen */
    u64 ticked_ns, looked_ns; /* when it was last looked who has ended, and what probes cost */
    u64 swept_ns;             /* when it may be looked at once more who has ended, if processes have been seen */
    bool seen;
    u64 forget_ns;                /* when blocks of those that are gone may be forgotten */
    u64 retry_ns;                 /* when refused probes may be tried again */
    unsigned said;                /* lines about files where nothing can be seen */
    bool missed;                  /* atomic: something could not be put; all are to be looked at again */
    struct heaps_figures figures; /* atomic, each one */
    struct heap_files files;
    struct closer *closer;       /* of links */
    u8 taken[XP_HEAP_PROCESSES]; /* places of processes */
    VEC(struct process) processes;
    struct go_heaps *go; /* NULL: only what probes see is of interest */
    struct leaks *leaks; /* NULL: nobody wants to know */
    u64 begun_ns;        /* when the first process was followed; 0: not yet */
    leaks_list found;    /* at the end */
};

static inline void heaps_add(u64 *figure, u64 n)
{
    __atomic_add_fetch(figure, n, __ATOMIC_RELAXED);
}

static inline bool heaps_ending(const struct heaps *h)
{
    return __atomic_load_n(&h->ending, __ATOMIC_RELAXED);
}

/* ---- heaps_follow.c ---- */
/* Follows a process in a file, unless that is done. `held`: it is stopped meanwhile. */
void heaps_follow(struct heaps *h, struct process *p, struct known_file *f, bool held);
/* Says, and counts, what came of attaching to a file of a process. */
void heaps_note_attached(struct heaps *h, struct known_file *f, struct followed *in, int rc);
/* Say that a file is left alone, or has not what is looked for, unless that is done. */
void heaps_say_remote(struct heaps *h, struct known_file *f, const struct xp_listed *l);
void heaps_say_without(struct heaps *h, struct known_file *f, const struct xp_listed *l);
/* Tries again what the kernel has refused, if it is time for that. */
void heaps_retry(struct heaps *h);

/* ---- heaps_watch.c: how much of what processes do is watched ---- */
unsigned heaps_parts(enum heap_watch watch);
u64 heaps_cpu_ns(u32 tgid);
/* Attaches to what is watched of a file. Returns 0 or -errno. */
int heaps_attach(struct heaps *h, const struct process *p, const struct known_file *f, struct probe_heap_links *links);
/* Looks at what probes cost, and decides. */
void heaps_look(struct heaps *h);
/* Forgets the blocks of address spaces that are gone. */
void heaps_forget(struct heaps *h);
u64 heaps_pause_ms(const struct heaps *h); /* between two such looks */

/* ---- heaps_leaks.c ---- */
/* Looks at what is old by now, if it is time for that; `last`: and decides what leaks. */
void heaps_look_for_leaks(struct heaps *h, bool last);

/* ---- heaps_go.c ---- */
int heaps_go_new(struct heaps *h, bool since_start); /* 0 or -ENOMEM */
/* A process has mapped a program in Go. */
void heaps_go_follow(struct heaps *h, const struct xp_mapping *m, const struct go_heap *where);
