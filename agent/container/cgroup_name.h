/* Parses cgroup paths: a path identifies a container, a pod or a systemd unit. Every runtime and cgroup driver has its
 * own format; the parser knows all of them and reads nothing but the path.
 *
 *     containerd  .../pod<uid>/<64 hex>      .../kubepods-pod<uid_>.slice/cri-containerd-<id>.scope
 * A.slice:cri-containerd:<id> CRI-O       .../pod<uid>/crio-<id>     .../crio-<id>.scope[/container] docker /docker/<64
 * hex>           /system.slice/docker-<id>.scope podman      /libpod_parent/libpod-<id>
 * /machine.slice/libpod-<id>.scope[/container]
 *
 * Components are read from the left and the last match counts: a cluster in a container (kind) nests one in the other,
 * and what a container makes below itself (systemd's units, init.scope) still is that container. Nothing is anchored at
 * the beginning, for a private cgroup namespace shows "/../../pod<uid>/<id>". The conmon processes that watch podman's
 * and CRI-O's containers are the host's, whatever the path: they have no name.
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

enum container_runtime { /* as far as the path tells; <pod>/<id> may be anybody's */
                         RUNTIME_UNKNOWN,
                         RUNTIME_CONTAINERD,
                         RUNTIME_CRIO,
                         RUNTIME_DOCKER,
                         RUNTIME_PODMAN,
};

#define CONTAINER_ID_MAX 64
#define POD_UID_MAX      36
#define UNIT_NAME_MAX    127 /* longer ones (systemd allows 255) are cut */

struct cgroup_name {
    enum cgroup_kind kind;
    enum container_runtime runtime;
    char id[CONTAINER_ID_MAX + 1]; /* lower-case hex; empty unless it is a container */
    char pod[POD_UID_MAX + 1]; /* of a pod or a container in one: a UUID with dashes, or a static pod's 32 hex digits */
    char unit[UNIT_NAME_MAX + 1]; /* "nginx.service", as systemd escapes it; empty unless it is a unit */
    size_t own; /* so many bytes of the path are the cgroup that is named; more of them are groups below it */
};

/* Names a path of `len` bytes; any bytes are allowed. */
void cgroup_name_parse(struct cgroup_name *out, const char *path, size_t len);

/* Is this the kubelet's group around all pods: "kubepods", or a slice, below a cgroup root of its own (kind) or not? */
bool cgroup_is_pods(const char *path);

/* The path of one hierarchy in the text of /proc/PID/cgroup (cgroups(7)): `controller` is "" for the unified one, else
 * one of version 1. A removed group's " (deleted)" is left out. 0 and a part of `text`, or -ENOENT. */
int cgroup_line_find(const char *text, const char *controller, const char **path, size_t *len);

/* "containerd", "cri-o", "docker", "podman", "unknown". */
const char *container_runtime_name(enum container_runtime r);
