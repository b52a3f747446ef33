/* Decodes a reply of a container runtime: its sandboxes and containers at one moment, as plain arrays over the received
 * bytes. A sandbox is the pod as the runtime knows it (and, under its own id, the pause container's); labels and
 * annotations of both are those that the kubelet gave.
 *
 * The bytes come from a runtime, but most of what is in them users chose. Memory for unpacking, the number of records
 * and of pairs, and the length of every string are bounded; text is UTF-8; what does not fit is left out and counted.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include <stdbool.h>

#define CRI_MESSAGE_MAX (16 << 20)   /* bytes, as it arrives */
#define CRI_MEMORY_MAX  (96 << 20)   /* bytes, unpacked: two-byte records become structs of a hundred */
#define CRI_RECORDS_MAX 16384        /* sandboxes, and containers */
#define CRI_PAIRS_MAX   256          /* labels, and annotations, of one record */
#define CRI_STRING_MAX  (256 * 1024) /* bytes: what the API server allows for all annotations of an object */

struct cri_pair {
    const char *key, *value;
};
struct cri_pairs {
    struct cri_pair *v;
    u32 n;
};

struct cri_sandbox {
    const char *id, *name, *namespace_, *uid; /* "" when not said */
    bool ready;                               /* a pod whose sandbox was made anew has the old one in the list, too */
    struct cri_pairs labels, annotations;
};

struct cri_container {
    const char *id, *sandbox, *name, *image, *image_id;
    struct cri_pairs labels, annotations;
};

struct cri_list {
    VEC(struct cri_sandbox) sandboxes;
    VEC(struct cri_container) containers;
    u64 dropped; /* records, pairs and strings that were left out */
    void *owned[2];
    struct cri_memory {
        size_t left;
    } memory[2];
};

/* Appends a ListPodSandboxResponse, a ListContainersResponse: once each, to an empty list. 0, -EBADMSG (not such a
 * message, or one that unpacks to too much), -ENOMEM. */
int cri_list_sandboxes(struct cri_list *l, const void *bytes, size_t len);
int cri_list_containers(struct cri_list *l, const void *bytes, size_t len);
void cri_list_free(struct cri_list *l);

/* The image of a ContainerStatusResponse, "" when it does not say. 0, -EBADMSG, -ENOMEM. */
int cri_status_image(const void *bytes, size_t len, char image[], size_t size);
/* Name and version of a VersionResponse as one clean line, "containerd 1.6.20". 0, -EBADMSG, -ENOMEM. */
int cri_version_text(const void *bytes, size_t len, char text[], size_t size);

/* The value of a pair, or NULL. */
const char *cri_pairs_get(const struct cri_pairs *p, const char *key);
