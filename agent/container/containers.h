/* Keeps the list of containers on this machine, with their names and cgroups.
 *
 * Cgroups are reported as they are made and removed (by a BPF program on the kernel's tracepoints), and a scan, at
 * first and then seldom, repairs what was missed. A path says what kind of cgroup it is; names, labels and annotations
 * come from the container runtime, or from its state files where no runtime answers. So a container is known by its id
 * from its first moment (NEW), and by its name a little later (KNOWN). When its cgroup is gone it stays for a grace
 * period (ENDED), with a descriptor of its root, so that the last samples find their names and files.
 *
 * Pods' own cgroups and systemd's units are listed beside the containers. A group that a container makes below its own
 * belongs to the container.
 *
 * One thread owns it all; there are no locks. containers_tick may block while it asks the runtime: twice cri_timeout_ms
 * at worst, and after failures ever more seldom.
 */
#pragma once
#include "container/cgroup_name.h"
#include "container/cri_list.h"
#include "container/hierarchy.h"
#include "bpf/types.h"
#include <stdbool.h>

#define CONTAINERS_MAX         16384       /* cgroups: containers, pods, units, and groups below them */
#define CONTAINERS_BELOW_MAX   512         /* groups below one container's own: nobody takes the room of all */
#define CONTAINERS_BYTES_MAX   (32 << 20)  /* of all labels and annotations together */
#define CONTAINERS_PATH_MAX    512         /* of an event; a longer path may be cut and is read again by a scan */
#define CONTAINERS_VALUE_MAX   4096        /* bytes of a label's or annotation's value; longer ones are cut */
#define CONTAINERS_PAIRS_BYTES (64 * 1024) /* labels, and annotations, of one record */

enum container_state { CONTAINER_NEW, CONTAINER_KNOWN, CONTAINER_ENDED };
/* Where the names come from; files have no pairs. */
enum container_told { TOLD_NOTHING, TOLD_BY_FILE, TOLD_BY_RUNTIME };

struct container_pair {
    char *key, *value;
};
struct container_pairs {
    struct container_pair *v;
    u32 n;
};

struct container {
    u64 cgroup;                 /* id */
    char *path;                 /* in its hierarchy */
    struct cgroup_name is;      /* kind, runtime, container id, pod uid, unit */
    enum container_state state; /* units are known from the beginning */
    enum container_told told;
    bool sandbox; /* the pause container: its id is its pod's sandbox */
    bool starved; /* CONTAINERS_BYTES_MAX left no room for its pairs: what they say is not known */
    /* "" when nobody said; namespace_ and pod are Kubernetes' */
    char *name, *image, *image_id, *pod, *namespace_;
    struct container_pairs labels;                      /* of the container; pods and sandboxes have none */
    struct container_pairs pod_labels, pod_annotations; /* of its sandbox */
    u32 init_pid;                                       /* as our PID namespace counts; 0: not found (yet) */
    u64 init_start;                                     /* clock ticks after boot, as in /proc/PID/stat */
    u64 pid_ns;                                         /* inode number of its PID namespace; 0: not known */
    int root_fd;                                        /* O_PATH of its root directory, or -1 */
    u64 made_ns, ended_ns;                              /* CLOCK_MONOTONIC; 0: it runs */
};

/* Called from within the functions below, which must not be called from there. The container is valid until gone. */
struct containers_handlers {
    void *ctx;
    void (*changed)(void *ctx, const struct container *c); /* new, named, initial process found, ended */
    void (*gone)(void *ctx, const struct container *c);    /* the last word about it */
};

/* Who knows names: the CRI client, or what a test puts in its place. */
struct container_source {
    void *ctx;
    int (*fetch)(void *ctx, struct cri_list *out, char *why, size_t why_len);
    int (*image)(void *ctx, const char *id, char *image, size_t size);
    const char *(*runtime)(void *ctx); /* "containerd 1.6.20", or "" */
};

struct containers_config {                 /* strings are copied */
    struct hierarchy hierarchy;            /* whose ids the events carry */
    const char *host_root;                 /* the host's root as we see it; NULL: "/" */
    const char *cri_socket;                /* a path; NULL: search below host_root; "none": do not ask */
    unsigned cri_timeout_ms;               /* 0: 1 s */
    const volatile bool *stop;             /* ends a call to the runtime early; may be NULL */
    u64 rescan_ns;                         /* 0: 60 s */
    u64 grace_ns;                          /* how long the ended stay; 0: 60 s */
    unsigned max_roots;                    /* root descriptors held at once; 0: 1,024 */
    const struct container_source *source; /* NULL: the CRI client */
};

struct containers_stats {
    u64 cgroups, containers, pods, units, ended; /* now; sandboxes are containers */
    u64 unnamed;                                 /* containers that run and that nobody named yet */
    u64 made, removed;                           /* events that concerned us */
    u64 foreign, cut;                            /* events of other hierarchies; with a path that was too long */
    u64 rescans, found_late, lost_late;          /* made and removed that only a re-scan saw: missed events */
    u64 full;                                    /* cgroups left out because of their bounds or for want of memory */
    u64 fields_dropped;                          /* strings and pairs beyond their bounds */
    u64 answered, timeouts, unreachable, unsupported, malformed, failed; /* calls for lists, by how they ended */
    u64 last_ok_ns;           /* when the runtime answered; asked with each scan */
    u64 given_up;             /* containers that the runtime never listed */
    u64 by_file;              /* named by a state file */
    u64 roots, roots_refused; /* descriptors held; not held: max_roots, or not to be opened */
    const char *runtime;      /* "containerd 1.6.20", or "" */
    const char *why;          /* the last error, one line; "" when the last call was answered */
};

struct containers;

/* 0, -errno when host_root cannot be opened, -ENOMEM. Nothing is read before the first tick: attach events first, then
 * tick, and nothing is missed. */
int containers_new(struct containers **out, const struct containers_config *config,
                   const struct containers_handlers *handlers);
/* Frees all; `gone` is not called. */
void containers_free(struct containers **c);

/* A cgroup was made, was removed. `hierarchy` is the kernel's number (0: unified); others than ours are counted. */
void containers_cgroup_made(struct containers *c, u32 hierarchy, u64 cgroup, const char *path, u64 now);
void containers_cgroup_removed(struct containers *c, u32 hierarchy, u64 cgroup, u64 now);
/* A sample came from a cgroup that containers_find does not know: process `pid` is in it. To whom it belongs, also when
 * there is no room for it; NULL: to none. */
const struct container *containers_learn(struct containers *c, u64 cgroup, u32 pid, u64 now);

/* What is due: names, initial processes, a scan, the end of a grace period; with CLOCK_MONOTONIC, when it is due, or
 * ten times a second. */
void containers_tick(struct containers *c, u64 now);
/* When the next tick has something to do; it may be long ago, while the runtime does not answer. */
u64 containers_due(const struct containers *c);

/* The container, pod or unit to which a cgroup belongs, ended ones included; NULL when it belongs to none. */
const struct container *containers_find(const struct containers *c, u64 cgroup);
/* Calls `each` for all, in no order, until it returns false. */
void containers_all(const struct containers *c, bool (*each)(void *ctx, const struct container *one), void *ctx);
void containers_stats(const struct containers *c, struct containers_stats *out);

/* The value of a pair, or NULL. */
const char *container_pair(const struct container_pairs *p, const char *key);
