/* What is special about kind `usdt` (bpf/kinds/usdt.bpf.c): where the arguments of each site are. */
#include "probe/kinds.h"
#include "probe/probe_internal.h"
#include "bpf/types.h"
#include "bpf/usdt.h"
#include <bpf/bpf.h>
#include <errno.h>

static const struct bpf_map *sites_of(const struct bpf_object *object, const struct probe_places *places)
{
    return places && places->sites ? bpf_object__find_map_by_name(object, "usdt_sites") : NULL;
}

int usdt_prepare(struct bpf_object *object, const struct probe_places *places)
{
    struct bpf_map *map = (struct bpf_map *)sites_of(object, places);
    return map ? bpf_map__set_max_entries(map, (u32)places->n) : 0;
}

int usdt_configure(struct bpf_object *object, const struct probe_places *places)
{
    const struct bpf_map *map = sites_of(object, places);
    int rc = 0;
    for (u32 i = 0; map && !rc && i < places->n; i++)
        rc = bpf_map_update_elem(bpf_map__fd(map), &i, &places->sites[i], BPF_ANY) ? -errno : 0;
    return rc;
}
