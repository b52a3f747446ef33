/* FILE of a probe as `pod:NAMESPACE/NAME/CONTAINER:/PATH`: in the root directory of a container, which the container
 * runtime knows.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct container;

struct pod_file {
    char namespace_[64], pod[256], container[64];
    const char *path; /* borrowed */
};
/* Takes what is behind "pod:" apart. Returns 0 or -EINVAL. */
int pod_file_split(const char *text, struct pod_file *out);

struct pod_search { /* what containers_all looks for */
    const struct pod_file *wanted;
    u32 pid;        /* of its first process; 0: not found */
    u64 start;      /* of that, in clock ticks after boot */
    char near[256]; /* containers of the pod, or pods of the namespace, with blanks between them */
};
/* A handler for containers_all: `ctx` is a struct pod_search. */
bool pod_file_match(void *ctx, const struct container *c);

/* Opens the file; `socket`: that of the container runtime, NULL: the first known one. Returns an owned descriptor and
 * *root, that of the container's root directory; or -errno and a line. */
int pod_file_open(const struct pod_file *f, const char *socket, int *root, char *why, size_t len);
