/* The registry from inside: containers.c keeps the table, containers_owner.c says whose a cgroup is, containers_names.c
 * asks who they are, containers_tick.c does what is due.
 */
#pragma once
#include "base/vec.h"
#include "container/containers.h"
#include "container/cri.h"

#define BUCKETS 4096

/* A container, pod or unit. */
struct entry {
    struct container c; /* first: what handlers see is the entry */
    struct entry *next_name;
    size_t at;      /* in the list of all */
    bool pending;   /* something about it is still to be found out: it is in the list of those */
    unsigned tries; /* fetches that did not list it */
    u64 next_ask;   /* not before; 0: nothing more to ask */
    unsigned init_tries;
    u64 next_init;   /* not before; 0: found, or not looked for */
    unsigned below;  /* groups below its own */
    unsigned missed; /* re-scans in a row that did not see it */
    u64 scan;        /* the last re-scan that saw it */
};

/* A cgroup: an entry's own, or one below it. */
struct node {
    u64 cgroup;
    struct entry *entry;
    struct node *next;
};

struct containers {
    struct containers_config config;
    struct containers_handlers handlers;
    struct containers_stats stats;
    struct container_source source;
    struct cri *cri; /* behind the source, unless a test is there */
    int root_fd;
    struct node *nodes[BUCKETS];  /* by cgroup id */
    struct entry *names[BUCKETS]; /* the living, by id, uid or unit */
    VEC(struct entry *) all;
    VEC(struct entry *) pending;
    u64 next_scan, next_expiry, next_fetch;
    size_t pair_bytes; /* of all entries */
    u64 scan;          /* number of the re-scan that runs, or ran last */
    u64 fetch_backoff; /* ns; 0: the last call was answered */
    char why[256];
};

/* ---- containers.c ---- */

void containers_pend(struct containers *c, struct entry *e);
struct entry *containers_entry(const struct containers *c, u64 cgroup);
/* Is it the container, pod or unit of that name? */
bool containers_is_same(const struct entry *e, const struct cgroup_name *n, const char *path);
/* The living one of that name. */
struct entry *containers_named(const struct containers *c, const struct cgroup_name *n, const char *path);
/* A group of an entry's. 0, -ENOSPC. */
int containers_add_node(struct containers *c, u64 cgroup, struct entry *e);
/* A new container, pod or unit whose own cgroup this is. */
struct entry *containers_add_entry(struct containers *c, u64 cgroup, const char *path, size_t len, u64 now);
void containers_end(struct containers *c, struct entry *e, u64 now);
void containers_drop(struct containers *c, struct entry *e); /* and say that it is gone */
void containers_changed(struct containers *c, const struct entry *e);

/* ---- containers_owner.c ---- */

/* A cgroup that exists, from an event or a scan; `late`: only a scan saw it. Whose it is; NULL: nobody's. */
struct entry *containers_add(struct containers *c, u64 cgroup, const char *path, u64 now, bool late);

/* ---- containers_names.c ---- */

/* Asks the runtime when that is due for somebody, and tells everybody whom it lists. `everybody`: those that were given
 * up, too, and even when nobody waits, so that it is known whether the runtime can be reached. */
void containers_ask(struct containers *c, u64 now, bool everybody);
void container_free(struct container *c);
/* Bytes of all its pairs, as they count against CONTAINERS_BYTES_MAX. */
size_t container_pair_bytes(const struct container *c);
int container_init(struct container *c, u64 cgroup, const char *path, size_t len);
