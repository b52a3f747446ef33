#include "probe/timeline.h"
#include "base/cleanup.h"
#include "probe/denied.h"
#include "probe/object.h"
#include "probe/object_options.h"
#include "probe/probe_internal.h"
#include "timeline.skel.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 32 /* threads that a read brings */

struct timeline_probe {
    struct timeline_bpf *skel;
    struct ring_buffer *ring;
    const struct timeline_handlers *handlers; /* while records are passed */
    int cpus;
};

static int take(void *ctx, void *data, size_t len)
{
    const struct timeline_handlers *h = ((struct timeline_probe *)ctx)->handlers;
    const struct xp_tl_event *e = data;
    if (e->type == XP_TL_TASK && len >= sizeof(struct xp_tl_task))
        h->task(h->ctx, data);
    else if (e->type != XP_TL_TASK && len >= sizeof(*e))
        h->event(h->ctx, e);
    return 0;
}

static int load(struct timeline_probe *p, u64 cgroup, int subsys)
{
    p->skel = timeline_bpf__open_opts(object_options());
    if (!p->skel)
        return -errno;
    p->skel->rodata->xp_cgroup = cgroup;
    p->skel->rodata->xp_cgroup_subsys = subsys;
    p->skel->rodata->xp_prev_state = object_arguments("sched_switch") >= 4;
    int rc = timeline_bpf__load(p->skel);
    if (rc)
        return rc;
    p->ring = ring_buffer__new(bpf_map__fd(p->skel->maps.events), take, p, NULL);
    return p->ring ? 0 : -errno;
}

int timeline_probe_new(struct timeline_probe **out, u64 cgroup, int cgroup_subsys, char *why, size_t len)
{
    struct timeline_probe *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    libbpf_set_print(NULL); /* what it would say is said below, or is no trouble */
    p->cpus = libbpf_num_possible_cpus();
    int rc = p->cpus < 0 ? p->cpus : load(p, cgroup, cgroup_subsys);
    if (rc && !denied_explains(rc, DENIED_BPF, why, len))
        probe_why(rc, why, len, "the kernel rejected the eBPF programs of the timeline (%s)", denied_rejection(rc));
    if (rc)
        timeline_probe_free(&p);
    else
        *out = p;
    return rc;
}

void timeline_probe_free(struct timeline_probe **p)
{
    if (!*p)
        return;
    ring_buffer__free((*p)->ring);
    timeline_bpf__destroy((*p)->skel);
    free(TAKE_PTR(*p));
}

static int list(struct timeline_probe *p, const struct timeline_handlers *h)
{
    struct bpf_link *link = bpf_program__attach_iter(p->skel->progs.xp_tl_list, NULL);
    AUTO_CLOSE int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
    AUTO_FREE struct xp_tl_listed *batch = calloc(BATCH, sizeof(*batch));
    ssize_t n = fd < 0 || !batch ? -1 : 1;
    while (n > 0 && (n = read(fd, batch, BATCH * sizeof(*batch))) > 0) /* whole records (fs/seq_file.c) */
        for (size_t i = 0; i < (size_t)n / sizeof(*batch); i++)
            h->listed(h->ctx, &batch[i]);
    int rc = n < 0 ? -errno : 0;
    bpf_link__destroy(link);
    return rc;
}

/* The iterator is no program that runs by itself. Switches come last: what is known of threads then is told before. */
static int attach(struct timeline_probe *p)
{
    struct timeline_bpf *s = p->skel;
    const struct {
        struct bpf_program *program;
        struct bpf_link **link;
    } all[] = {
        {s->progs.xp_tl_fork, &s->links.xp_tl_fork},     {s->progs.xp_tl_exec, &s->links.xp_tl_exec},
        {s->progs.xp_tl_rename, &s->links.xp_tl_rename}, {s->progs.xp_tl_wakeup_new, &s->links.xp_tl_wakeup_new},
        {s->progs.xp_tl_wakeup, &s->links.xp_tl_wakeup}, {s->progs.xp_tl_waking, &s->links.xp_tl_waking},
        {s->progs.xp_tl_switch, &s->links.xp_tl_switch},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (!(*all[i].link = bpf_program__attach(all[i].program)))
            return -errno;
    return 0;
}

int timeline_probe_start(struct timeline_probe *p, const struct timeline_handlers *h, char *why, size_t len)
{
    int rc = attach(p);
    if (rc)
        return probe_why(rc, why, len, "cannot follow the scheduler: %s", strerror(-rc));
    rc = list(p, h);
    return rc ? probe_why(rc, why, len, "cannot list threads: %s", strerror(-rc)) : 0;
}

int timeline_probe_poll(struct timeline_probe *p, const struct timeline_handlers *h)
{
    p->handlers = h;
    int n = ring_buffer__consume(p->ring);
    p->handlers = NULL;
    return n < 0 ? n : 0;
}

void timeline_probe_stop(struct timeline_probe *p)
{
    timeline_bpf__detach(p->skel);
}

size_t timeline_probe_stack(const struct timeline_probe *p, u32 stack, u64 frames[XP_TL_FRAMES])
{
    size_t n = 0;
    if (bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.stacks), &stack, frames))
        return 0;
    while (n < XP_TL_FRAMES && frames[n])
        n++;
    return n;
}

u64 timeline_probe_lost(const struct timeline_probe *p)
{
    return p->skel->bss->xp_lost;
}

int timeline_probe_cpus(const struct timeline_probe *p)
{
    return p->cpus;
}
