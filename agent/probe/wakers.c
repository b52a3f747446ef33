/* The eBPF object that sees who wakes up threads (bpf/wakers.bpf.c): loaded and attached only while somebody wants
 * that, because it costs each wake-up of the machine something.
 */
#include "probe/probe_internal.h"
#include "base/cleanup.h"
#include "wakers.skel.h"
#include <errno.h>
#include <stdlib.h>

struct wakers {
    struct wakers_bpf *skel;
    struct bpf_link *on_waking;
};

static int load(struct wakers *w, const struct probe *p, const struct xp_config *config, struct bpf_object *first,
                struct bpf_object *sched)
{
    w->skel = wakers_bpf__open();
    if (!w->skel)
        return -errno;
    *(struct xp_config *)&w->skel->rodata->xp_config = *config;
    const struct bpf_map *own[] = {w->skel->maps.scratch, w->skel->maps.pc_cache, NULL};
    for (size_t i = 0; own[i]; i++)
        bpf_map__set_max_entries((struct bpf_map *)own[i], (u32)p->ncpus);
    int rc = sched_share_maps(w->skel->obj, first, own);
    if (!rc)
        rc = sched_share_maps(w->skel->obj, sched, own);
    return rc ? rc : wakers_bpf__load(w->skel);
}

int wakers_start(struct wakers **out, const struct probe *p, const struct xp_config *config, struct bpf_object *first,
                 struct bpf_object *sched)
{
    CLEANUP(wakers_free) struct wakers *w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    int rc = load(w, p, config, first, sched);
    if (rc)
        return rc;
    w->on_waking = bpf_program__attach(w->skel->progs.xp_on_waking);
    if (!w->on_waking)
        return -errno;
    *out = TAKE_PTR(w);
    return 0;
}

void wakers_free(struct wakers **ww)
{
    struct wakers *w = *ww;
    if (!w)
        return;
    bpf_link__destroy(w->on_waking);
    wakers_bpf__destroy(w->skel);
    free(w);
    *ww = NULL;
}

u64 wakers_map_bytes(const struct wakers *w)
{
    return w ? probe_map_memlock(bpf_map__fd(w->skel->maps.scratch)) +
                   probe_map_memlock(bpf_map__fd(w->skel->maps.pc_cache))
             : 0;
}
