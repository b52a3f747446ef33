/* A folder that stands for /proc (struct hierarchy.proc): processes, of which only the cgroup is known. */
#pragma once

struct fake_processes {
    char dir[32];
};

/* Another process, in the group of that path in the unified hierarchy. 0 or -errno. */
int fake_process(struct fake_processes *p, unsigned pid, const char *group);
void fake_processes_free(struct fake_processes *p);
