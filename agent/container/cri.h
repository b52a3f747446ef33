/* The client of a node's container runtime interface: finds the socket of containerd, CRI-O or cri-dockerd, speaks v1
 * or, with older ones, v1alpha2, and fetches two lists. No streams: GetContainerEvents of containerd 1.7 takes its
 * events away from the kubelet.
 *
 * Calls block for the configured time at most, all that one function does taken together. One thread; the caller
 * spaces tries after failures.
 */
#pragma once
#include "container/cri_list.h"
#include <stdbool.h>

struct cri;

struct cri_config {
    int root_fd;         /* sockets are searched below this directory (borrowed); AT_FDCWD: the root */
    const char *socket;  /* a path, or "unix://PATH", of ours; NULL: search */
    unsigned timeout_ms; /* of one cri_list or cri_image; 0: 1 s */
    const volatile bool *stop;
};

struct cri_about {
    const char *socket; /* in use; "" when none */
    char runtime[128];  /* "containerd 1.6.20"; "" before the first answer */
    bool alpha;         /* v1alpha2 */
    u64 calls, errors;
};

int cri_new(struct cri **out, const struct cri_config *config); /* 0 or -ENOMEM; connects to nothing yet */
void cri_free(struct cri **c);

/* All sandboxes and containers. 0; -ENOENT: no socket there; -ENOTSUP: something listens that has no such interface
 * (docker's containerd); or what grpc_call returns, -EBADMSG, -ENOMEM; then a line in why[]. */
int cri_fetch(struct cri *c, struct cri_list *out, char *why, size_t why_len);
/* The image of one container as the user wrote it, where the list only has its digest. */
int cri_image(struct cri *c, const char *id, char *image, size_t size);
const struct cri_about *cri_about(const struct cri *c);
