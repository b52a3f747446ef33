/* Finds the mounted cgroup hierarchies, and the one that identifies containers on this machine.
 *
 * Cgroup version 2 has a single hierarchy. A hybrid machine has version 1 controllers and also a unified tree. Newer
 * runtimes (runc 1.1) put containers into the unified tree; older ones do not, so that all containers are in its root.
 * Therefore the unified tree is used if a container or pod is found in it, and a version 1 controller otherwise. The
 * controllers memory and cpuset are not used, because newer kernels omit them from version 1. The ID of a cgroup is the
 * inode number of its directory, unique within its hierarchy.
 *
 * Inside a pod with a private cgroup namespace, the upper part of the tree is not visible: the visible root does not
 * have inode 1. The tree is then searched under /proc/1/root. If that is not accessible, the cgroups are found by
 * scanning processes.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>

enum hierarchy_mode { HIERARCHY_V1, HIERARCHY_HYBRID, HIERARCHY_V2 };

struct hierarchy {
    enum hierarchy_mode mode;
    bool unified;        /* IDs are those of the unified tree, else of the controller's tree */
    bool whole;          /* `mount` is the root of the hierarchy: all cgroups are visible below it */
    u32 number;          /* the kernel's number of the hierarchy; 0: the unified one */
    char controller[32]; /* version 1: name as in /proc/cgroups; "" if unified */
    char mount[512];     /* directory of the hierarchy's root, or of its visible part */
    const char *proc;    /* directory of processes; NULL: /proc */
};

/* `root` is the directory where cgroups are mounted ("/host/sys/fs/cgroup"); NULL: the one that libcgroup finds,
 * /sys/fs/cgroup, or the same under /proc/1/root. Returns 0 or -ENODATA: no cgroups there. */
int hierarchy_find(struct hierarchy *out, const char *root);
/* Returns the number of a controller's hierarchy from the text of /proc/cgroups; 0 if it has none. */
u32 hierarchy_number(const char *cgroups, const char *controller);
/* "v1", "hybrid", "v2". */
const char *hierarchy_mode_name(enum hierarchy_mode mode);

#define HIERARCHY_MAX_GROUPS 65536
#define HIERARCHY_MAX_DEPTH  32 /* levels below the root; systemd in kubernetes in docker has about 15 */

/* Called with the ID of a cgroup and its path in the hierarchy ("/kubepods/..."), parents before their children. `pid`
 * is a process in the cgroup if processes are scanned, else 0. Return false to end the scan. */
typedef bool (*hierarchy_each)(void *ctx, u64 id, const char *path, u32 pid);
/* Scans all visible cgroups below the root. Returns their number; -E2BIG: a limit was reached; or -errno. */
int hierarchy_scan(const struct hierarchy *h, hierarchy_each each, void *ctx);
/* Scans the cgroups that contain a process, each once and in no particular order, for machines where the tree is not
 * visible. Paths are those of our cgroup namespace. Cgroups whose ID cannot be determined are left out. Returns the
 * number of cgroups, or -errno. */
int hierarchy_scan_processes(const struct hierarchy *h, hierarchy_each each, void *ctx);

/* Finds the path of a process's cgroup, truncated to size - 1 bytes. Returns 0; -ENOENT: the process exited, or is not
 * in this hierarchy; or another -errno. */
int hierarchy_path_of(const struct hierarchy *h, u32 pid, char path[], u32 size);
/* Finds the ID of the cgroup at `path`: from the tree if it is visible, else from /sys/fs/cgroup as mounted in process
 * `pid`, which is in that cgroup and sees that of its container. Returns 0 or -ENOENT. */
int hierarchy_id_of(const struct hierarchy *h, u32 pid, const char *path, u64 *id);
/* Tells whether the cgroup of that ID was removed. Works whether or not the tree is visible. Also false if that cannot
 * be determined (it requires CAP_DAC_READ_SEARCH). A cgroup ID is a file handle of the file system:
 * fs/kernfs/mount.c. */
bool hierarchy_is_gone(const struct hierarchy *h, u64 id);
