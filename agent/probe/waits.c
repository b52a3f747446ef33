/* When waits are followed: from the start in a recording, in an agent while a cgroup wants one of their events. */
#include "probe/probe_internal.h"
#include "xprof.skel.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

int probe_event_by(const struct probe *p, enum probe_how how)
{
    for (size_t e = 0; e < p->config.nevents; e++)
        if (p->config.events[e].how == how)
            return (int)e;
    return -1;
}

u32 waits_bit(const struct probe *p, enum probe_how how)
{
    int event = probe_event_by(p, how);
    return event < 0 ? 0 : 1u << event;
}

static u32 wait_events(const struct probe *p)
{
    return waits_bit(p, PROBE_OFFCPU) | waits_bit(p, PROBE_RUNQUEUE) | waits_bit(p, PROBE_WAKEUP) |
           waits_bit(p, PROBE_LOCK);
}

static bool some_cgroup_wants(const struct probe *p, u32 events)
{
    int map = bpf_map__fd(p->skel->maps.wants);
    u64 id, *from = NULL;
    u32 want;
    for (; !bpf_map_get_next_key(map, from, &id); from = &id)
        if (!bpf_map_lookup_elem(map, &id, &want) && (XP_WANT_EVENTS(want) & events))
            return true;
    return false;
}

static bool anybody_wants(const struct probe *p, u32 events)
{
    return events && (p->config.target != XP_TARGET_CGROUP || some_cgroup_wants(p, events));
}

int waits_start(struct probe *p, char *why, size_t len)
{
    u32 events = wait_events(p), changes = __atomic_load_n((u32 *)&p->skel->bss->xp_live.wants, __ATOMIC_ACQUIRE);
    bool wanted = anybody_wants(p, events), wakers = anybody_wants(p, waits_bit(p, PROBE_WAKEUP));
    p->wants_seen = changes;
    if (!wanted) {
        sched_free(&p->sched);
        __atomic_store_n(&p->wait_bytes, 0, __ATOMIC_RELAXED);
    }
    if (!wanted)
        return 0;
    bool begins = !p->sched;
    int rc = begins ? sched_start(&p->sched, p, wakers, why, len) : sched_see_wakers(p->sched, p, wakers);
    if (rc)
        return begins ? rc : probe_why(rc, why, len, "nobody sees who wakes up threads: %s", strerror(-rc));
    __atomic_store_n(&p->wait_bytes, sched_map_bytes(p->sched), __ATOMIC_RELAXED);
    return begins;
}

bool waits_changed(const struct probe *p)
{
    return wait_events(p) && p->wants_seen != __atomic_load_n((u32 *)&p->skel->bss->xp_live.wants, __ATOMIC_ACQUIRE);
}

void waits_stop(struct probe *p)
{
    if (p->sched)
        sched_stop(p->sched);
}

void probe_waits_free(struct probe_waits *w)
{
    vec_free(&w->sums);
    vec_free(&w->sleepers);
    vec_free(&w->mappings);
}

int probe_take_waits(struct probe *p, const struct probe_handlers *h, struct probe_waits *out)
{
    if (!p->sched)
        return 0;
    p->handlers = h;
    int rc = sched_take(p->sched, p->ring, out);
    p->handlers = NULL;
    return rc;
}
