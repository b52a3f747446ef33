/* eBPF objects that are loaded beside the first one, and use its maps.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <bpf/libbpf.h>
#include <stdbool.h>

struct probe;

/* Whether this kernel's type information has a type of this name (`kind`: BTF_KIND_*). */
bool object_kernel_has(const char *name, u32 kind);
/* Returns the number of arguments that this kernel's tracepoint has; 0: there is none of this name. */
size_t object_arguments(const char *tracepoint);
/* Makes maps that both objects know those of `first`, except those in the list `but` (NULL-terminated, or NULL). To be
 * called before `object` is loaded. Returns 0 or -errno. */
int object_share_maps(struct bpf_object *object, struct bpf_object *first, const struct bpf_map *const *but);

/* An object whose programs may run while others of ours are interrupted, or interrupt them: what programs of one CPU
 * share is not shared with it. */
struct object_apart {
    struct bpf_object *object;
    const void *config;           /* struct xp_config, in its read-only data */
    const struct bpf_map *own[3]; /* one value per CPU; NULL-terminated */
};
#define OBJECT_APART(skel)                                    \
    (struct object_apart)                                     \
    {                                                         \
        (skel)->obj, &(skel)->rodata->xp_config,              \
        {                                                     \
            (skel)->maps.scratch, (skel)->maps.pc_cache, NULL \
        }                                                     \
    }
/* Configures and loads it, with the maps of others (NULL-terminated). Returns 0 or -errno. */
int object_load_apart(const struct object_apart *a, const struct probe *p, const struct xp_config *config,
                      struct bpf_object *const *others);
u64 object_apart_bytes(const struct object_apart *a); /* kernel memory of its own maps */
