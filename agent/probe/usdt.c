/* What is special about kind `usdt` (bpf/kinds/usdt.bpf.c): where the arguments of each site are. */
#include "probe/kinds.h"
#include "probe/probe_internal.h"
#include "bpf/types.h"
#include "bpf/usdt.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

static const struct bpf_map *sites_of(const struct bpf_object *object, const struct probe_places *places)
{
    return places && places->sites ? bpf_object__find_map_by_name(object, "usdt_sites") : NULL;
}

/* Whether all sites have these arguments where the first one has them. */
static bool are_alike(const struct probe_places *places, u32 arguments)
{
    for (size_t i = 1; i < places->n; i++)
        for (size_t a = 0; a < XP_USDT_ARGUMENTS; a++)
            if (arguments >> a & 1 && memcmp(&places->sites[i].arguments[a], &places->sites[0].arguments[a],
                                             sizeof(places->sites[0].arguments[a])) != 0)
                return false;
    return true;
}

int usdt_prepare(struct bpf_object *object, const struct probe_places *places, u32 arguments, bool plain)
{
    struct bpf_map *map = (struct bpf_map *)sites_of(object, places);
    if (map && plain && !are_alike(places, arguments))
        return -EDOM;
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
