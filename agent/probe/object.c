#include "probe/object.h"
#include "probe/probe_internal.h"
#include <bpf/btf.h>
#include <string.h>

bool object_kernel_has(const char *name, u32 kind)
{
    struct btf *btf = btf__load_vmlinux_btf();
    bool has = btf && btf__find_by_name_kind(btf, name, kind) > 0;
    btf__free(btf);
    return has;
}

/* The first parameter of the prototype is not the tracepoint's. */
size_t object_arguments(const char *tracepoint)
{
    char name[128];
    snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
    struct btf *btf = btf__load_vmlinux_btf();
    int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) : -1;
    const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;
    for (int i = 0; t && i < 2; i++) /* typedef -> pointer -> prototype */
        t = btf__type_by_id(btf, t->type);
    size_t n = t && btf_is_func_proto(t) && btf_vlen(t) ? btf_vlen(t) - 1u : 0;
    btf__free(btf);
    return n;
}

/* Names of internal maps begin with that of their object. */
static bool same_map(const struct bpf_map *one, const struct bpf_map *two)
{
    const char *x = bpf_map__name(one), *y = bpf_map__name(two);
    if (bpf_map__is_internal(one) && bpf_map__is_internal(two))
        return strstr(x, ".bss") && strstr(y, ".bss");
    return !strcmp(x, y);
}

static bool is_one_of(const struct bpf_map *map, const struct bpf_map *const *list)
{
    for (; list && *list; list++)
        if (*list == map)
            return true;
    return false;
}

int object_share_maps(struct bpf_object *object, struct bpf_object *first, const struct bpf_map *const *but)
{
    struct bpf_map *own, *theirs;
    bpf_object__for_each_map(own, object)
    {
        if (is_one_of(own, but))
            continue;
        bpf_object__for_each_map(theirs, first)
        {
            int rc = same_map(own, theirs) ? bpf_map__reuse_fd(own, bpf_map__fd(theirs)) : 0;
            if (rc)
                return rc;
        }
    }
    return 0;
}

int object_load_apart(const struct object_apart *a, const struct probe *p, const struct xp_config *config,
                      struct bpf_object *const *others)
{
    int rc = 0;
    *(struct xp_config *)a->config = *config;
    for (size_t i = 0; a->own[i]; i++)
        bpf_map__set_max_entries((struct bpf_map *)a->own[i], (u32)p->ncpus);
    for (size_t i = 0; !rc && others[i]; i++)
        rc = object_share_maps(a->object, others[i], a->own);
    return rc ? rc : bpf_object__load(a->object);
}

u64 object_apart_bytes(const struct object_apart *a)
{
    u64 sum = 0;
    for (size_t i = 0; a->own[i]; i++)
        sum += probe_map_memlock(bpf_map__fd(a->own[i]));
    return sum;
}
