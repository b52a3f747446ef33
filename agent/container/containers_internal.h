/* Declarations shared by the files of the registry: containers.c keeps the table, containers_owner.c finds the owner of
 * a cgroup, containers_names.c queries names, containers_tick.c does the work that is due.
 */
#pragma once
#include "base/vec.h"
#include "container/containers.h"
#include "container/cri.h"

#define BUCKETS 4096

/* A container, pod or unit. */
struct entry {
    struct container c; /* must be first: handlers get its address */
    struct entry *next_name;
    size_t at;      /* in the list of all */
    bool pending;   /* not everything about it is known: it is in the list of pending entries */
    unsigned tries; /* number of fetches that did not list it */
    u64 next_ask;   /* time of the next query; 0: none needed */
    unsigned init_tries;
    u64 next_init;   /* time of the next attempt; 0: found, or not wanted */
    unsigned below;  /* number of cgroups below its own */
    unsigned missed; /* consecutive re-scans that did not see it */
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
    struct cri *cri; /* used by the source, except in tests */
    int root_fd;
    struct node *nodes[BUCKETS];  /* by cgroup id */
    struct entry *names[BUCKETS]; /* running entries, by ID, UID or unit */
    VEC(struct entry *) all;
    VEC(struct entry *) pending;
    u64 next_scan, next_expiry, next_fetch;
    size_t pair_bytes; /* of all entries */
    u64 scan;          /* number of the current or last re-scan */
    u64 fetch_backoff; /* ns; 0: the last call succeeded */
    char why[256];
};

/* ---- containers.c ---- */

void containers_pend(struct containers *c, struct entry *e);
struct entry *containers_entry(const struct containers *c, u64 cgroup);
/* Tells whether the entry is the container, pod or unit of that name. */
bool containers_is_same(const struct entry *e, const struct cgroup_name *n, const char *path);
/* Finds the running entry of that name. */
struct entry *containers_named(const struct containers *c, const struct cgroup_name *n, const char *path);
/* Adds a cgroup of an entry. Returns 0 or -ENOSPC. */
int containers_add_node(struct containers *c, u64 cgroup, struct entry *e);
/* Adds a container, pod or unit with its own cgroup. */
struct entry *containers_add_entry(struct containers *c, u64 cgroup, const char *path, size_t len, u64 now);
void containers_end(struct containers *c, struct entry *e, u64 now);
void containers_drop(struct containers *c, struct entry *e); /* and call `gone` */
void containers_changed(struct containers *c, const struct entry *e);

/* ---- containers_owner.c ---- */

/* Adds an existing cgroup from an event or a scan. `late`: only a scan saw it. Returns the entry it belongs to; NULL:
 * none. */
struct entry *containers_add(struct containers *c, u64 cgroup, const char *path, u64 now, bool late);

/* ---- containers_names.c ---- */

/* Queries the runtime if that is due for any entry, and updates all entries that it lists. `everybody`: also update
 * entries that were given up, and query even if no entry waits, to find out whether the runtime can be reached. */
void containers_ask(struct containers *c, u64 now, bool everybody);
void container_free(struct container *c);
/* Returns the size of all its pairs, as counted for CONTAINERS_BYTES_MAX. */
size_t container_pair_bytes(const struct container *c);
int container_init(struct container *c, u64 cgroup, const char *path, size_t len);
