/* Stands in for probe/timeline.c in unit tests, which load no eBPF programs. Processes 10 and 20 are there; 10 forks
 * 11, which executes `child`; 20 forks 21. All have run, and one record is not whole.
 */
#include "probe/timeline.h"
#include <stdio.h>
#include <stdlib.h>

struct timeline_probe {
    u64 began;
    u32 polls;
};

int timeline_probe_new(struct timeline_probe **out, u64 cgroup, int cgroup_subsys, char *why, size_t len)
{
    (void)cgroup, (void)cgroup_subsys, (void)why, (void)len;
    *out = calloc(1, sizeof(**out));
    return *out ? 0 : -1;
}

void timeline_probe_free(struct timeline_probe **p)
{
    free(*p);
    *p = NULL;
}

static struct xp_tl_task task(u32 tid, u32 parent, const char *name, u64 time)
{
    struct xp_tl_task t = {.type = XP_TL_TASK, .wanted = 1, .tid = tid, .tgid = tid, .parent = parent, .time = time};
    snprintf(t.comm, sizeof(t.comm), "%s", name);
    snprintf(t.process, sizeof(t.process), "%s", name);
    return t;
}

int timeline_probe_start(struct timeline_probe *p, const struct timeline_handlers *h, char *why, size_t len)
{
    (void)p, (void)why, (void)len;
    for (u32 pid = 10; pid <= 20; pid += 10) {
        struct xp_tl_listed l = {.task = task(pid, 0, pid == 10 ? "ten" : "twenty", 0)};
        h->listed(h->ctx, &l);
    }
    return 0;
}

static void forks(const struct timeline_handlers *h, u32 parent, const char *name, u64 time)
{
    struct xp_tl_task t = task(parent + 1, parent, "parent", time);
    struct xp_tl_event e = {.type = XP_TL_SWITCH, .thread = parent, .other = parent + 1, .time = time, .stack = -1};
    h->task(h->ctx, &t);
    t = task(parent + 1, 0, name, time);
    h->task(h->ctx, &t);
    h->event(h->ctx, &e);
}

int timeline_probe_poll(struct timeline_probe *p, const struct timeline_handlers *h)
{
    if (p->polls++)
        return 0;
    forks(h, 10, "child", 1);
    forks(h, 20, "other", 2);
    return 0;
}

void timeline_probe_stop(struct timeline_probe *p)
{
    (void)p;
}

size_t timeline_probe_stack(const struct timeline_probe *p, u32 stack, u64 frames[XP_TL_FRAMES])
{
    (void)p, (void)stack, (void)frames;
    return 0;
}

u64 timeline_probe_lost(const struct timeline_probe *p)
{
    (void)p;
    return 3;
}

int timeline_probe_cpus(const struct timeline_probe *p)
{
    (void)p;
    return 1;
}
