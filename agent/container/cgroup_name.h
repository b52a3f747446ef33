/* Parses cgroup paths: a path identifies a container, a pod or a systemd unit. Every runtime and cgroup driver has its
 * own format; the parser knows all of them and reads nothing but the path.
 *
 *     containerd  .../pod<uid>/<64 hex>       .../kubepods-pod<uid_>.slice/cri-containerd-<id>.scope
 *                 A.slice:cri-containerd:<id>
 *     CRI-O       .../pod<uid>/crio-<id>      .../crio-<id>.scope[/container]
 *     docker      /docker/<64 hex>            /system.slice/docker-<id>.scope
 *     podman      /libpod_parent/libpod-<id>  /machine.slice/libpod-<id>.scope[/container]
 *
 * Components are read from the left and the last match counts, because a cluster in a container (kind) has containers
 * within containers. Cgroups that a container creates below its own (systemd units, init.scope) still belong to that
 * container. Matches are not anchored at the start of the path, because a private cgroup namespace shows
 * "/../../pod<uid>/<id>". The conmon processes that monitor containers of podman and CRI-O belong to the host, whatever
 * their path: they get no name.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

enum cgroup_kind {
    CGROUP_NONE,
    CGROUP_CONTAINER,
    CGROUP_POD,  /* the cgroup around a pod's containers */
    CGROUP_UNIT, /* a systemd service or scope */
};

enum container_runtime { /* as far as the path shows; <pod>/<id> may be of any runtime */
                         RUNTIME_UNKNOWN,
                         RUNTIME_CONTAINERD,
                         RUNTIME_CRIO,
                         RUNTIME_DOCKER,
                         RUNTIME_PODMAN,
};

#define CONTAINER_ID_MAX 64
#define POD_UID_MAX      36
#define UNIT_NAME_MAX    127 /* longer names (systemd allows 255) are truncated */

struct cgroup_name {
    enum cgroup_kind kind;
    enum container_runtime runtime;
    char id[CONTAINER_ID_MAX + 1]; /* lower-case hex; empty unless it is a container */
    char pod[POD_UID_MAX + 1]; /* of a pod or a container in a pod: a UUID with dashes, or 32 hex digits (static pod) */
    char unit[UNIT_NAME_MAX + 1]; /* "nginx.service", as systemd escapes it; empty unless it is a unit */
    size_t own;                   /* length of the part of the path that has the name; the rest is a cgroup below it */
};

/* Parses a path of `len` bytes, which may be arbitrary. */
void cgroup_name_parse(struct cgroup_name *out, const char *path, size_t len);

/* Tells whether this is the kubelet's cgroup around all pods: "kubepods" or its slice, also below another cgroup root
 * (kind). */
bool cgroup_is_pods(const char *path);

/* Finds the path of one hierarchy in the text of /proc/PID/cgroup (cgroups(7)). `controller` is "" for the unified
 * hierarchy, else a version 1 controller. The " (deleted)" of a removed cgroup is left out. *path points into `text`.
 * Returns 0 or -ENOENT. */
int cgroup_line_find(const char *text, const char *controller, const char **path, size_t *len);

/* "containerd", "cri-o", "docker", "podman", "unknown". */
const char *container_runtime_name(enum container_runtime r);
