/* Processes as the tests of this room need them: a folder that stands for /proc (struct hierarchy.proc), where only the
 * cgroup of each is known; and a real one that lives in a root directory of its own.
 */
#pragma once
#include <sys/types.h>

struct fake_processes {
    char dir[32];
};

/* Another process, in the group of that path in the unified hierarchy. 0 or -errno. */
int fake_process(struct fake_processes *p, unsigned pid, const char *group);
void fake_processes_free(struct fake_processes *p);

/* A child whose root directory that is, until it is killed; -1: this machine does not let us. */
pid_t process_with_root(const char *root);
void process_end(const pid_t *child);
