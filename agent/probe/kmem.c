/* What is special about kind `kmem` (bpf/kinds/kmem.bpf.c): which blocks are sampled. */
#include "base/cleanup.h"
#include "probe/kinds.h"
#include "probe/probe_internal.h"
#include "bpf/kmem.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>

int kmem_prepare(struct bpf_object *object, const struct probe *p)
{
    struct bpf_map *blocks = bpf_object__find_map_by_name(object, "kmem_blocks");
    return blocks && p->config.heap_period == 1 ? bpf_map__set_max_entries(blocks, XP_KMEM_BLOCKS_EXACT) : 0;
}

int kmem_configure(struct bpf_object *object, const struct probe *p)
{
    struct bpf_map *map = bpf_object__find_map_by_name(object, "kmem_settings");
    if (!map) /* another kind's */
        return 0;
    struct xp_kmem_settings settings = {0};
    u32 zero = 0;
    AUTO_FCLOSE FILE *symbols = fopen("/proc/kallsyms", "re");
    heap_odds(settings.odds, p->config.heap_period);
    settings.pages = symbols && kmem_find_code(symbols, &settings);
    return bpf_map_update_elem(bpf_map__fd(map), &zero, &settings, BPF_ANY) ? -errno : 0;
}
