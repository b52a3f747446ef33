/* Reads the state files of container runtimes, for machines without a CRI: docker's config.v2.json, the containers.json
 * of podman and CRI-O's storage, the OCI config.json in containerd's state. The files belong to root, but users
 * determine most of their contents. So they are opened below a root that symbolic links cannot leave, limited in size,
 * and parsed as JSON.
 */
#pragma once
#include "container/cgroup_name.h"
#include <stdbool.h>

#define STATE_FILE_MAX (8 << 20) /* bytes; podman's file lists all containers of a machine */

struct state_file { /* "" for missing values */
    enum container_runtime runtime;
    char name[256], image[512], image_id[128];
    char pod[256], namespace_[64], uid[64]; /* if the runtime knows them */
    bool sandbox;                           /* it is the pause container of a pod */
};

/* Looks for container `id` (hexadecimal) in the files of `runtime` (RUNTIME_UNKNOWN: of all runtimes), below the
 * directory root_fd (the host's root). Returns 0; -ENODATA: no file mentions it; -EBADMSG, -EFBIG, -EACCES and so on: a
 * file that may mention it could not be read. */
int state_file_find(struct state_file *out, int root_fd, const char *id, enum container_runtime runtime);
