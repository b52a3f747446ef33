/* What is special about kind `usdt` (bpf/kinds/usdt*.bpf.c): where the arguments of each site are. */
#include "probe/kinds.h"
#include "probe/probe_internal.h"
#include "bpf/types.h"
#include "bpf/usdt.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

static const struct bpf_map *sites_of(const struct bpf_object *object, const struct probe_places *places)
{
    return places && (places->sites || places->usdt) ? bpf_object__find_map_by_name(object, "usdt_sites") : NULL;
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
    return map ? bpf_map__set_max_entries(map, places->usdt ? XP_USDT_MAPPED : (u32)places->n) : 0;
}

static int put(int map, u32 first, const struct xp_usdt_site *sites, size_t n)
{
    int rc = 0;
    for (u32 i = 0, at = first; !rc && i < n; i++, at++)
        rc = bpf_map_update_elem(map, &at, &sites[i], BPF_ANY) ? -errno : 0;
    return rc;
}

int probe_usdt_sites(struct probe *p, size_t event, u32 first, const struct xp_usdt_site *sites, size_t n)
{
    struct bpf_object *object = uprobes_object(p, event);
    int map = object ? bpf_object__find_map_fd_by_name(object, "usdt_sites") : -1;
    return map < 0 ? -ENODATA : put(map, first, sites, n);
}

int usdt_configure(struct bpf_object *object, const struct probe_places *places)
{
    const struct bpf_map *map = sites_of(object, places);
    return map ? put(bpf_map__fd(map), 0, places->sites, places->n) : 0;
}
