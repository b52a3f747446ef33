/* Declarations shared by the files of this room. */
#pragma once
#include "probe/probe.h"
#include "probe/shards.h"
#include <bpf/libbpf.h>

struct xprof_bpf;
struct sched;
struct wakers;

#define PROBE_MAX_CPUS 4096

struct probe {
    struct xprof_bpf *skel;
    struct probe_config config;
    struct ring_buffer *ring;
    const struct probe_handlers *handlers; /* during probe_poll */
    u64 malformed;
    struct shard_space tables;
    struct xp_rule *rules;     /* the dictionary, mapped */
    struct bpf_link *links[4]; /* fork, free; cgroups created, removed */
    int *event_fds;            /* [cpu * XP_MAX_EVENTS + event], -1 = none */
    int ncpus;
    int progs[XP_MAX_EVENTS];
    bool running;
    struct sched *sched; /* follows waits; NULL: nobody wants that */
    u64 wait_bytes;      /* atomic: kernel memory of its maps */
    u32 wants_seen;      /* xp_live.wants when it was last looked who does */
    int stats_fd;        /* keeps the kernel's run time statistics on; -1 */
};

/* The program of an event that perf counts; whether an event of the recording is one. */
struct bpf_program *probe_sampler(const struct probe *p, size_t event);
bool probe_counts(const struct probe *p, size_t event);
/* Kernel memory of a map, in bytes. */
u64 probe_map_memlock(int fd);
int tables_init(struct probe *p);
void tables_fini(struct probe *p);
int attach_init(struct probe *p);
void attach_fini(struct probe *p);
/* The bit of the event that is recorded by `how`, as in wants; 0: none. */
u32 waits_bit(const struct probe *p, enum probe_how how);
/* Begins or ends following waits, as is wanted now. Returns 0; 1: it began; or -errno and a line in why[]. */
int waits_start(struct probe *p, char *why, size_t len);
bool waits_changed(const struct probe *p); /* what is wanted may have changed since */
void waits_stop(struct probe *p);
/* ---- sched.c: the eBPF objects that follow threads off their CPUs (bpf/waits.bpf.h). They are loaded and attached
 * only while somebody wants one of their events, and use the maps of the first object. ---- */
/* Loads and attaches. `wakers`: with who wakes up threads. Returns 0, or -errno and a line in why[]. */
int sched_start(struct sched **out, const struct probe *p, bool wakers, char *why, size_t why_len);
/* Begins or ends seeing who wakes up threads, as is `wanted`. Returns 0 or -errno. */
int sched_see_wakers(struct sched *s, const struct probe *p, bool wanted);
/* Makes maps that both objects know those of `first`, except those in the list `but` (NULL-terminated, or NULL). */
int sched_share_maps(struct bpf_object *object, struct bpf_object *first, const struct bpf_map *const *but);
/* Tells it of a process that was requested after it began (XP_TARGET_PIDS). */
void sched_want(struct sched *s, u32 tgid);
/* Detaches; what was counted is kept. */
void sched_stop(struct sched *s);
void sched_free(struct sched **s);
u64 sched_map_bytes(const struct sched *s);
/* Counts waits that go on, ends the interval of the kernel side, and appends what was counted in it. Returns 0 or
 * -errno. */
int sched_take(struct sched *s, struct ring_buffer *ring, struct probe_waits *out);

/* ---- wakers.c ---- */
/* Loads and attaches, with maps of two other objects. Returns 0 or -errno. */
int wakers_start(struct wakers **out, const struct probe *p, const struct xp_config *config, struct bpf_object *first,
                 struct bpf_object *sched);
void wakers_free(struct wakers **w);
u64 wakers_map_bytes(const struct wakers *w); /* of maps of its own; 0: NULL */

/* Formats a line into why[] and returns err. */
int probe_why(int err, char *why, size_t len, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
