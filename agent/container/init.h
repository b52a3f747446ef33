/* Finds the first process of a container, its PID namespace and its root directory.
 *
 * A runtime makes the cgroup, puts a helper into it, and only when that has changed its root directory is it the
 * container: until then its root is the host's, which must not be taken for the container's.
 */
#pragma once
#include "container/hierarchy.h"

struct init {
    u32 pid;     /* as our PID namespace counts */
    u64 start;   /* clock ticks after boot */
    u64 pid_ns;  /* inode number; 0: not readable */
    int root_fd; /* O_PATH, owned; -1: not readable, or not wanted */
};

/* The process in the cgroup that is 1 in its own PID namespace, else the oldest. 0; -ENOENT none; -EAGAIN it still has
 * the host's root. */
int init_find(struct init *out, const struct hierarchy *h, const char *path, bool want_root);
/* The same for a process that is known to be in the container, where the tree is out of sight. */
int init_of_process(struct init *out, u32 pid, bool want_root);

/* From the text of /proc/PID/status: the process's number in its innermost PID namespace; 0 when it does not say. */
u32 init_parse_nspid(const char *status);
/* From the text of /proc/PID/stat: field 22 and field 4. 0 or -EBADMSG. */
int init_parse_stat(const char *stat, u64 *start, u32 *parent);
