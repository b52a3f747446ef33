/* Root directories of processes, held open (O_PATH): one descriptor for all processes of a container. */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include <sys/types.h>

struct opener;

struct root { /* of one or more processes */
    int fd;   /* O_PATH */
    u64 mount;
    dev_t dev;
    ino_t ino;
    unsigned refs; /* 0: this place is free */
};
struct roots { /* {0} is empty */
    VEC(struct root) v;
};

void roots_free(struct roots *r);

/* Opens the root of a process that started at start_ns after boot (0: unknown). Returns its number, to be given back to
 * roots_release; 0: the process is gone, or no memory. */
u32 roots_hold(struct roots *r, struct opener *o, u32 tgid, u64 start_ns);
/* 0 is allowed in both: nothing, and -1. The descriptor is borrowed. */
void roots_release(struct roots *r, u32 root);
int roots_fd(const struct roots *r, u32 root);
/* Returns the path of a mapping, which is as this process sees it, as seen from the root. Owned; NULL without memory.
 */
char *roots_path(const struct roots *r, u32 root, const char *path);
