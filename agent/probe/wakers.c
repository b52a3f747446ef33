/* The eBPF object that sees who wakes up threads (bpf/wakers.bpf.c): loaded and attached only while somebody wants
 * that, because it costs each wake-up of the machine something.
 */
#include "base/cleanup.h"
#include "probe/object.h"
#include "probe/object_options.h"
#include "probe/probe_internal.h"
#include "wakers.skel.h"
#include <errno.h>
#include <stdlib.h>

struct wakers {
    struct wakers_bpf *skel;
    struct bpf_link *on_waking;
};

int wakers_start(struct wakers **out, const struct probe *p, const struct xp_config *config,
                 struct bpf_object *const *others)
{
    CLEANUP(wakers_free) struct wakers *w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    w->skel = wakers_bpf__open_opts(object_options());
    int rc = w->skel ? object_load_apart(&OBJECT_APART(w->skel), p, config, others) : -errno;
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

struct bpf_object *wakers_object(const struct wakers *w)
{
    return w ? w->skel->obj : NULL;
}

u64 wakers_map_bytes(const struct wakers *w)
{
    return w ? object_apart_bytes(&OBJECT_APART(w->skel)) : 0;
}
