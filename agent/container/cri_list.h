/* Decodes the lists of a container runtime, its current sandboxes and containers, into plain arrays that point into the
 * received bytes. A sandbox is the runtime's view of a pod (its ID is that of the pause container). The kubelet sets
 * the labels and annotations of sandboxes and containers.
 *
 * The bytes come from a runtime, but users determine most of their contents. The memory for unpacking, the number of
 * records and pairs, and the length of every string are limited; text is UTF-8. What does not fit is left out and
 * counted.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include <stdbool.h>

#define CRI_MESSAGE_MAX (16 << 20)   /* bytes, as received */
#define CRI_MEMORY_MAX  (96 << 20)   /* bytes, unpacked: a record of two bytes becomes a struct of 100 */
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
    const char *id, *name, *namespace_, *uid; /* "" if missing */
    bool ready;                               /* false for old sandboxes of a pod, which stay in the list */
    struct cri_pairs labels, annotations;
};

struct cri_container {
    const char *id, *sandbox, *name, *image, *image_id;
    struct cri_pairs labels, annotations;
};

struct cri_list {
    VEC(struct cri_sandbox) sandboxes;
    VEC(struct cri_container) containers;
    u64 dropped; /* records, pairs and strings left out */
    void *owned[2];
    struct cri_memory {
        size_t left;
    } memory[2];
};

/* Add a ListPodSandboxResponse or a ListContainersResponse to the list, once each. Return 0; -EBADMSG: not such a
 * message, or too large when unpacked; -ENOMEM. */
int cri_list_sandboxes(struct cri_list *l, const void *bytes, size_t len);
int cri_list_containers(struct cri_list *l, const void *bytes, size_t len);
void cri_list_free(struct cri_list *l);

/* Reads the image from a ContainerStatusResponse; "" if missing. Returns 0, -EBADMSG or -ENOMEM. */
int cri_status_image(const void *bytes, size_t len, char image[], size_t size);
/* Formats name and version of a VersionResponse as one line, "containerd 1.6.20". Returns 0, -EBADMSG or -ENOMEM. */
int cri_version_text(const void *bytes, size_t len, char text[], size_t size);

/* Returns the value of `key`, or NULL. */
const char *cri_pairs_get(const struct cri_pairs *p, const char *key);
