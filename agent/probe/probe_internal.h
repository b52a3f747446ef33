/* Declarations shared by the files of this room. */
#pragma once
#include "probe/probe.h"
#include "probe/shards.h"
#include "probe/typed.h"
#include <bpf/libbpf.h>
#include <pthread.h>

struct xprof_bpf;
struct kinds;
struct sched;
struct wakers;
struct contention;

/* Besides leaving a CPU and coming back, what is seen of waits. */
struct sched_sees {
    bool wakers; /* who ends them */
    bool locks;  /* those for locks of the kernel */
};
struct late;

#define PROBE_MAX_CPUS 4096

/* How much CPU time the eBPF programs of each event take (run_time.c). */
struct run_time {
    u64 ns[PROBE_RUN_TIMES];     /* atomic, each one */
    u64 before[PROBE_RUN_TIMES]; /* what the kernel said when the slice began */
    u64 began_ns, ended_ns;      /* the last slice; 0: there was none */
    int fd;                      /* keeps the kernel measuring; -1 */
    bool always;                 /* it measures anyway */
    bool known;                  /* atomic */
};

/* What was counted of disks (disk.c). */
struct disks {
    pthread_mutex_t lock;
    probe_disk_list ended, now; /* by objects that are gone, and by the one that is there */
    u64 left_out, left_out_now; /* the same, of requests for which there was no room */
};
void disks_init(struct disks *d);
void disks_free(struct disks *d);

struct probe {
    struct xprof_bpf *skel;
    struct typed typed; /* its programs refer to this */
    struct probe_config config;
    struct ring_buffer *ring;
    const struct probe_handlers *handlers; /* during probe_poll */
    u64 malformed;
    struct shard_space tables;
    struct xp_rule *rules;     /* the dictionary, mapped */
    struct bpf_link *links[4]; /* fork, free; cgroups created, removed */
    size_t refused;            /* the event that the kernel did not open */
    int *event_fds;            /* [cpu * XP_MAX_EVENTS + event], -1 = none */
    int ncpus;
    int progs[XP_MAX_EVENTS];
    bool running;
    struct sched *sched; /* follows waits; NULL: nobody wants that */
    bool sched_over;     /* it does not any more, but has what was counted */
    struct kinds *kinds; /* NULL: none was ever wanted */
    struct bpf_object
        *attached[XP_MAX_EVENTS]; /* atomic; of `kinds`: those that uprobes.c attaches; NULL: not so far */
    enum probe_links attached_by; /* by which means; valid if there is any */
    u64 wait_bytes;               /* atomic: kernel memory of its maps */
    u32 wants_seen;               /* xp_live.wants when it was last looked who does */
    bool unseen_told;             /* what this kernel does not let us see was said */
    u8 *published;                /* atomic bits of file IDs that have a state; NULL: nobody asks (probe_published) */
    int stats_fd;                 /* keeps the kernel's run time statistics on; -1 */
    struct run_time run_time;
    pthread_mutex_t listing; /* one at a time: the iterator of mappings has one scratch state */
    u32 heap_rounds;         /* atomic: no two have the same number */
    struct disks disks;
    struct probe_cost costs[XP_MAX_EVENTS]; /* atomic, each number */
    u32 resting;                            /* atomic: events, as bits (probe_rests) */
    pthread_mutex_t guarding;
    pid_t guard;     /* guard.c; 0: none so far, -1: it could not be started */
    int guard_pidfd; /* by which it sees the end of this process; -1 */
};

/* The n-th program for events that perf counts. */
struct bpf_program *probe_sampler(const struct probe *p, size_t number);
bool probe_counts(const struct probe *p, size_t event); /* whether perf counts an event of the recording */
/* Returns the number of such events before an event. */
size_t probe_counted(const struct probe *p, size_t before);
/* Kernel memory of a map, in bytes. */
u64 probe_map_memlock(int fd);
int tables_init(struct probe *p);
void tables_fini(struct probe *p);
int attach_init(struct probe *p);
void attach_fini(struct probe *p);
/* Which CPUs are online: a bit for each of PROBE_MAX_CPUS. Returns 0 or -errno. */
int probe_online(const struct probe *p, u8 *online);
/* The bit of the event that is recorded by `how`, as in wants; 0: none. */
u32 waits_bit(const struct probe *p, enum probe_how how);
/* Begins or ends following waits, as is wanted now. Returns 0; 1: it began or ended; or -errno. why[] gets a line of
 * what cannot be seen, or "". */
int waits_start(struct probe *p, char *why, size_t len);
bool waits_changed(const struct probe *p); /* what is wanted may have changed since */
void waits_stop(struct probe *p);
void waits_end(struct probe *p);
/* ---- sched.c: the eBPF objects that follow threads off their CPUs (bpf/waits.bpf.h). They are loaded and attached
 * only while somebody wants one of their events, and use the maps of the first object. ---- */
/* Loads and attaches, with what else is to be seen. Returns 0, or -errno and a line in why[]. What cannot be seen is no
 * failure, but has its line. */
int sched_start(struct sched **out, const struct probe *p, struct sched_sees sees, char *why, size_t why_len);
/* Begins or ends seeing what is wanted now. Returns 0, or -errno and a line in why[]: it goes on without. */
int sched_see(struct sched *s, const struct probe *p, struct sched_sees sees, char *why, size_t why_len);
/* Tells it of a process that was requested after it began (XP_TARGET_PIDS). */
void sched_want(struct sched *s, u32 tgid);
/* Detaches; what was counted is kept. */
void sched_stop(struct sched *s);
void sched_free(struct sched **s);
u64 sched_map_bytes(const struct sched *s);
/* Counts waits that go on. Their stacks come out of the ring, which is emptied meanwhile. Returns 0 or -errno. */
int sched_tell(struct sched *s, struct ring_buffer *ring, struct probe_waits *out);
/* Appends what was counted in an interval that has ended. Returns 0 or -errno. */
int sched_take(struct sched *s, u32 interval, struct probe_waits *out);

/* ---- wakers.c ---- */
/* Loads and attaches, with maps of other objects (NULL-terminated). Returns 0 or -errno. */
int wakers_start(struct wakers **out, const struct probe *p, const struct xp_config *config,
                 struct bpf_object *const *others);
void wakers_free(struct wakers **w);
struct bpf_object *wakers_object(const struct wakers *w); /* NULL: none */
u64 wakers_map_bytes(const struct wakers *w);             /* of maps of its own; 0: NULL */

/* ---- contention.c ---- */
/* Loads and attaches, with maps of other objects (NULL-terminated). Returns 0; -ENOTSUP: this kernel has no such
 * tracepoints; or another -errno. */
int contention_start(struct contention **out, const struct probe *p, const struct xp_config *config,
                     struct bpf_object *const *others);
void contention_free(struct contention **c);
struct bpf_object *contention_object(const struct contention *c); /* NULL: none */
u64 contention_map_bytes(const struct contention *c);             /* of maps of its own; 0: NULL */

/* ---- run_time.c ---- */
/* Begins a slice when it is time to; to be called about once per second, before programs are loaded. */
void run_time_tick(const struct probe *p, struct run_time *r);
/* Ends a slice that has been long enough, or (`at_once`) any. To be called often. */
void run_time_end(const struct probe *p, struct run_time *r, bool at_once);
/* Sums up the programs of an object (NULL: none), as far as the kernel has measured them. */
u64 run_time_of(const struct bpf_object *object);

/* Adds the run time of programs to the events that they are of, or to PROBE_WAITS. */
void sched_run_time(const struct sched *s, const struct probe *p, u64 ns[PROBE_RUN_TIMES]);

/* Empties a map and passes what was in it to `keep` (NULL: to nobody), which returns false when there is no memory.
 * Returns 0 or -errno. */
int probe_empty(const struct bpf_map *map, bool (*keep)(void *ctx, const void *key, const void *value), void *ctx);
/* ---- guard.c ---- */
/* Starts the process that cleans up if this one is killed, before something is stopped, or attached by uprobes. Once it
 * is there, does nothing. Returns 0 or -errno. Any thread may call it. */
int guard_start(struct probe *p);
/* Ends it: nobody is stopped any more, and this process closes its descriptors itself. */
void guard_end(struct probe *p);

/* ---- late.c ---- */
/* Returns the means by which user stacks of waits are taken (not PROBE_STACKS_AUTO). */
enum probe_wait_stacks late_means(const struct probe *p);
/* Sets what of config depends on the means. */
void late_configure(const struct probe *p, enum probe_wait_stacks means, struct xp_config *config);
/* Loads and attaches what `config` asks for, with maps of other objects (NULL-terminated); `calls`: the map of programs
 * that the one on switches calls. Returns 0, with *out untouched if nothing is needed, or -errno. */
int late_start(struct late **out, const struct probe *p, const struct xp_config *config,
               struct bpf_object *const *others, int calls);
void late_free(struct late **l);
u64 late_map_bytes(const struct late *l); /* of maps of its own; 0: NULL */

/* Formats a line into why[] and returns err. */
int probe_why(int err, char *why, size_t len, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
