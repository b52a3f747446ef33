/* Reads the state files of container runtimes, for machines without a CRI: docker's config.v2.json, the containers.json
 * of podman and CRI-O's storage, the OCI config.json in containerd's state. The files belong to root, but most of what
 * is in them users chose: they are opened below a root that links cannot leave, bounded, and read as JSON.
 */
#pragma once
#include "container/cgroup_name.h"
#include <stdbool.h>

#define STATE_FILE_MAX (8 << 20) /* bytes; podman's lists all containers of a machine */

struct state_file { /* "" for what is not said */
    enum container_runtime runtime;
    char name[256], image[512], image_id[128];
    char pod[256], namespace_[64], uid[64]; /* when the runtime was told */
    bool sandbox;                           /* it is a pod's pause container */
};

/* Looks for container `id` (hex) in the files of `runtime`, of all when it is unknown, below the directory root_fd (the
 * host's root). 0; -ENODATA nobody wrote of it; -EBADMSG, -EFBIG, -EACCES and so on: a file that may have could not be
 * read. */
int state_file_find(struct state_file *out, int root_fd, const char *id, enum container_runtime runtime);
