/* Finds the first process of a container and its PID namespace.
 *
 * A runtime creates the cgroup and starts a helper process in it, which becomes the container once it has changed its
 * root directory. Until then its root is that of the host, which must not be mistaken for that of the container.
 */
#pragma once
#include "container/hierarchy.h"

struct init {
    u32 pid;    /* in our PID namespace */
    u64 start;  /* clock ticks after boot */
    u64 pid_ns; /* inode number; 0: cannot be read */
};

/* Finds the process in the cgroup that has PID 1 in its own PID namespace, else the oldest process. Returns 0; -ENOENT:
 * there is none; -EAGAIN: it still has the host's root. */
int init_find(struct init *out, const struct hierarchy *h, const char *path);
/* The same for a process that is known to be in the container, for machines where the cgroup tree is not visible. */
int init_of_process(struct init *out, u32 pid);

/* Returns the PID of the process in its innermost PID namespace, from the text of /proc/PID/status; 0 if it is not
 * there. */
u32 init_parse_nspid(const char *status);
/* Parses fields 22 and 4 of the text of /proc/PID/stat. Returns 0 or -EBADMSG. */
int init_parse_stat(const char *stat, u64 *start, u32 *parent);
