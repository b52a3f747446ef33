/* Keeps the list of containers on this machine, with their names and cgroups.
 *
 * A BPF program on the kernel's tracepoints reports each cgroup when it is created or removed. A scan at the start,
 * repeated at long intervals, finds what the events missed. The path of a cgroup determines its kind; names, labels and
 * annotations come from the container runtime, or from its state files if no runtime responds. So a container's ID is
 * known from its first moment (NEW), its name a little later (KNOWN). After its cgroup was removed, a container is kept
 * for a grace period (ENDED), with a descriptor of its root directory, so that its last samples can still be
 * symbolized.
 *
 * The list also holds the cgroups of pods and of systemd units. A cgroup that a container creates below its own belongs
 * to the container.
 *
 * One thread owns the list; there are no locks. containers_tick may block while it queries the runtime: for twice
 * cri_timeout_ms at most, and with growing pauses after failures.
 */
#pragma once
#include "container/cgroup_name.h"
#include "container/cri_list.h"
#include "container/hierarchy.h"
#include "bpf/types.h"
#include <stdbool.h>

#define CONTAINERS_MAX         16384       /* cgroups: containers, pods, units, and groups below them */
#define CONTAINERS_BELOW_MAX   512         /* cgroups below that of one container, so that none fills the list */
#define CONTAINERS_BYTES_MAX   (32 << 20)  /* all labels and annotations together */
#define CONTAINERS_PATH_MAX    512         /* path in an event; a longer one may be cut and is read again by a scan */
#define CONTAINERS_VALUE_MAX   4096        /* bytes of a label or annotation value; longer values are cut */
#define CONTAINERS_PAIRS_BYTES (64 * 1024) /* limit for the labels, and for the annotations, of one record */

enum container_state { CONTAINER_NEW, CONTAINER_KNOWN, CONTAINER_ENDED };
/* Source of the names. State files have no labels or annotations. */
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
    enum container_state state; /* units are CONTAINER_KNOWN from the beginning */
    enum container_told told;
    bool sandbox; /* the pause container: its ID is the sandbox ID of its pod */
    bool starved; /* its labels and annotations are missing because CONTAINERS_BYTES_MAX was reached */
    /* "" if unknown; namespace_ and pod are those of Kubernetes */
    char *name, *image, *image_id, *pod, *namespace_;
    struct container_pairs labels;                      /* of the container; pods and sandboxes have none */
    struct container_pairs pod_labels, pod_annotations; /* of its sandbox */
    u32 init_pid;                                       /* in our PID namespace; 0: not found (yet) */
    u64 init_start;                                     /* clock ticks after boot, as in /proc/PID/stat */
    u64 pid_ns;                                         /* inode number of its PID namespace; 0: not known */
    u64 made_ns, ended_ns;                              /* CLOCK_MONOTONIC; ended_ns is 0 while it runs */
};

/* Called by the functions below; a handler must not call them. The container is valid until `gone` returns. */
struct containers_handlers {
    void *ctx;
    void (*changed)(void *ctx, const struct container *c); /* new, named, initial process found, ended */
    void (*gone)(void *ctx, const struct container *c);    /* last call for this container */
};

/* Source of names: the CRI client, or a substitute in tests. */
struct container_source {
    void *ctx;
    int (*fetch)(void *ctx, struct cri_list *out, char *why, size_t why_len);
    int (*image)(void *ctx, const char *id, char *image, size_t size);
    const char *(*runtime)(void *ctx); /* "containerd 1.6.20", or "" */
};

struct containers_config {                 /* strings are copied */
    struct hierarchy hierarchy;            /* its IDs are in the events */
    const char *host_root;                 /* where the host's root is mounted; NULL: "/" */
    const char *cri_socket;                /* a path; NULL: search below host_root; "none": no runtime */
    unsigned cri_timeout_ms;               /* 0: 1 s */
    const volatile bool *stop;             /* ends a call to the runtime early; may be NULL */
    u64 rescan_ns;                         /* 0: 60 s */
    u64 grace_ns;                          /* how long ended containers are kept; 0: 60 s */
    const struct container_source *source; /* NULL: the CRI client */
};

struct containers_stats {
    u64 cgroups, containers, pods, units, ended; /* current numbers; sandboxes count as containers */
    u64 unnamed;                                 /* running containers without a name yet */
    u64 made, removed;                           /* events of our hierarchy */
    u64 foreign, cut;                            /* events of other hierarchies; with a truncated path */
    u64 rescans, found_late, lost_late;          /* created, removed cgroups found by a re-scan: missed events */
    u64 full;                                    /* cgroups left out because a limit was reached or memory ran out */
    u64 fields_dropped;                          /* strings and pairs beyond their limits */
    u64 answered, timeouts, unreachable, unsupported, malformed, failed; /* list calls by outcome */
    u64 last_ok_ns;      /* time of the runtime's last response; each scan calls it */
    u64 given_up;        /* containers that the runtime never listed */
    u64 by_file;         /* containers named by a state file */
    const char *runtime; /* "containerd 1.6.20", or "" */
    const char *why;     /* last error, one line; "" if the last call succeeded */
};

struct containers;

/* Returns 0; -errno if host_root cannot be opened; -ENOMEM. Nothing is read before the first tick. To miss no cgroup,
 * attach the events before the first tick. */
int containers_new(struct containers **out, const struct containers_config *config,
                   const struct containers_handlers *handlers);
/* Frees all; `gone` is not called. */
void containers_free(struct containers **c);

/* Report that a cgroup was created or removed. `hierarchy` is the kernel's number (0: unified). Events of other
 * hierarchies are only counted. */
void containers_cgroup_made(struct containers *c, u32 hierarchy, u64 cgroup, const char *path, u64 now);
void containers_cgroup_removed(struct containers *c, u32 hierarchy, u64 cgroup, u64 now);
/* Adds a cgroup that containers_find does not know, after a sample of process `pid` in it. Returns the container it
 * belongs to, even if there is no room to add the cgroup; NULL: none. */
const struct container *containers_learn(struct containers *c, u64 cgroup, u32 pid, u64 now);

/* Does the work that is due: names, initial processes, a scan, the end of a grace period. `now` is CLOCK_MONOTONIC.
 * Call it when containers_due says so, or ten times per second. */
void containers_tick(struct containers *c, u64 now);
/* Returns the time at which the next tick has work. It may be long past while the runtime does not respond. */
u64 containers_due(const struct containers *c);

/* Returns the container, pod or unit that a cgroup belongs to, including ended ones; NULL: none. */
const struct container *containers_find(const struct containers *c, u64 cgroup);
/* Calls `each` for every entry, in no particular order, until it returns false. */
void containers_all(const struct containers *c, bool (*each)(void *ctx, const struct container *one), void *ctx);
void containers_stats(const struct containers *c, struct containers_stats *out);

/* Returns the value of `key`, or NULL. */
const char *container_pair(const struct container_pairs *p, const char *key);
