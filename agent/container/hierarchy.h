/* Finds the mounted cgroup hierarchies, and the one that identifies containers on this machine.
 *
 * Version 2 has one hierarchy. A hybrid machine has version 1 controllers and a unified tree beside them, which newer
 * runtimes (runc 1.1) join and older ones do not: then every container is the root there. So the unified tree is taken
 * when a container or a pod is found in it, and a controller otherwise; memory and cpuset are not asked, newer kernels
 * leave them out of version 1. A cgroup's id is the inode number of its directory, unique within its hierarchy.
 *
 * From inside of a pod the tree above may be out of sight (a private cgroup namespace: the root seen has not inode 1).
 * Then it is looked for under /proc/1/root; where that is closed, processes stand for their cgroups.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>

enum hierarchy_mode { HIERARCHY_V1, HIERARCHY_HYBRID, HIERARCHY_V2 };

struct hierarchy {
    enum hierarchy_mode mode;
    bool unified;        /* ids are those of the unified tree; else of the controller's */
    bool whole;          /* `mount` is the root of the hierarchy: all cgroups can be seen below it */
    u32 number;          /* as the kernel counts hierarchies; 0 is the unified one */
    char controller[32]; /* version 1, as /proc/cgroups spells it; "" when unified */
    char mount[512];     /* directory of the hierarchy's root, or of what we see of it */
    const char *proc;    /* where processes are; NULL: /proc */
};

/* `root`: the place where cgroups are mounted ("/host/sys/fs/cgroup"); NULL: wherever libcgroup says, /sys/fs/cgroup,
 * or the same under /proc/1/root. 0 or -ENODATA: no cgroups there. */
int hierarchy_find(struct hierarchy *out, const char *root);
/* The number of a controller's hierarchy in the text of /proc/cgroups; 0 when it has none. */
u32 hierarchy_number(const char *cgroups, const char *controller);
/* "v1", "hybrid", "v2". */
const char *hierarchy_mode_name(enum hierarchy_mode mode);

#define HIERARCHY_MAX_GROUPS 65536
#define HIERARCHY_MAX_DEPTH  32 /* levels below the root; systemd in kubernetes in docker has about 15 */

/* Called with a cgroup's id, its path in the hierarchy ("/kubepods/..."; parents come before their children) and, by a
 * scan of processes, one in it, else 0; false ends the scan. */
typedef bool (*hierarchy_each)(void *ctx, u64 id, const char *path, u32 pid);
/* All cgroups below the root that are in sight. Returns how many were seen, -E2BIG when a bound ended it, or -errno. */
int hierarchy_scan(const struct hierarchy *h, hierarchy_each each, void *ctx);
/* The cgroups in which some process is, in no order, each once; for when the tree is out of sight. Paths are as our
 * cgroup namespace shows them. Groups whose id cannot be had are left out. Returns how many, or -errno. */
int hierarchy_scan_processes(const struct hierarchy *h, hierarchy_each each, void *ctx);

/* The path of a process's cgroup; at most size - 1 bytes of it. 0, -ENOENT (gone, or not in this hierarchy), -errno. */
int hierarchy_path_of(const struct hierarchy *h, u32 pid, char path[], u32 size);
/* The id of the cgroup at `path`: from the tree when it is in sight, else from what process `pid` in it has mounted at
 * its own /sys/fs/cgroup, which is its container's. 0 or -ENOENT. */
int hierarchy_id_of(const struct hierarchy *h, u32 pid, const char *path, u64 *id);
/* Is there no cgroup of that id any more? Wherever the tree can be seen or not; false as well when that cannot be told
 * (it takes CAP_DAC_READ_SEARCH). An id is a file handle of its file system: fs/kernfs/mount.c. */
bool hierarchy_is_gone(const struct hierarchy *h, u64 id);
