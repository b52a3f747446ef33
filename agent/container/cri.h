/* The client of a node's container runtime interface: finds the socket of containerd, CRI-O or cri-dockerd, speaks v1
 * or, with older ones, v1alpha2, and fetches two lists. It uses no event stream, because GetContainerEvents of
 * containerd 1.7 takes events away from the kubelet.
 *
 * A function blocks for at most the configured time, including all calls that it makes. One thread owns the client. The
 * caller limits the rate of attempts after failures.
 */
#pragma once
#include "container/cri_list.h"
#include <stdbool.h>

struct cri;

struct cri_config {
    int root_fd;         /* sockets are searched below this directory (borrowed); AT_FDCWD: "/" */
    const char *socket;  /* a path in our root, or "unix://PATH"; NULL: search */
    unsigned timeout_ms; /* per cri_fetch or cri_image; 0: 1 s */
    const volatile bool *stop;
};

struct cri_about {
    const char *socket; /* socket in use; "": none */
    char runtime[128];  /* "containerd 1.6.20"; "" before the first response */
    bool alpha;         /* v1alpha2 */
    u64 calls, errors;
};

int cri_new(struct cri **out, const struct cri_config *config); /* 0 or -ENOMEM; connects to nothing yet */
void cri_free(struct cri **c);

/* Fetches all sandboxes and containers. Returns 0, or an error and a line in why[]. -ENOENT: there is no socket;
 * -ENOTSUP: the server has no such interface (docker's containerd); -EBADMSG, -ENOMEM, or the error of grpc_call. */
int cri_fetch(struct cri *c, struct cri_list *out, char *why, size_t why_len);
/* Fetches the image name of one container as the user wrote it. The list may only have its digest. */
int cri_image(struct cri *c, const char *id, char *image, size_t size);
const struct cri_about *cri_about(const struct cri *c);
