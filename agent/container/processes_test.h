/* Processes for the tests of this room: simulated ones in a directory that replaces /proc (struct hierarchy.proc) and
 * contains only their cgroups; and a real one with its own root directory.
 */
#pragma once
#include <sys/types.h>

struct fake_processes {
    char dir[32];
};

/* Adds a process in the cgroup of that path in the unified hierarchy. Returns 0 or -errno. */
int fake_process(struct fake_processes *p, unsigned pid, const char *group);
void fake_processes_free(struct fake_processes *p);

/* Starts a child process with that root directory, which runs until it is killed. Returns -1 if this machine does not
 * permit it. */
pid_t process_with_root(const char *root);
void process_end(const pid_t *child);
