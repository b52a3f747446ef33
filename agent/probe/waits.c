/* When waits are followed, and other kinds counted: from the start in a recording, in an agent while a cgroup wants one
 * of their events.
 */
#include "probe/cost.h"
#include "probe/kinds.h"
#include "probe/probe_internal.h"
#include "xprof.skel.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define GRACE_US 1000 /* programs that began before an interval ended have ended by then */

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
    u32 bits = 0;
    for (size_t e = 0; e < p->config.nevents; e++)
        bits |= probe_counts(p, e) || p->config.events[e].how == PROBE_KIND ? 0 : 1u << e;
    return bits;
}

static bool some_cgroup_wants(const struct probe *p, u32 events)
{
    int map = bpf_map__fd(p->skel->maps.wants);
    u64 id, *from = NULL;
    u64 want;
    for (; !bpf_map_get_next_key(map, from, &id); from = &id)
        if (!bpf_map_lookup_elem(map, &id, &want) && (XP_WANT_EVENTS(want) & events))
            return true;
    return false;
}

static bool anybody_wants(const struct probe *p, u32 events)
{
    return events && (p->config.target != XP_TARGET_CGROUP || some_cgroup_wants(p, events));
}

static u32 kind_events(const struct probe *p)
{
    u32 bits = 0;
    for (size_t e = 0; e < p->config.nevents; e++)
        bits |= p->config.events[e].object && anybody_wants(p, 1u << e) ? 1u << e : 0;
    return bits;
}

/* They stay until what was counted has been taken. Returns 1: it is to be taken; 0: they had ended before. */
static int end_waits(struct probe *p)
{
    if (!p->sched || p->sched_over)
        return 0;
    sched_stop(p->sched);
    p->sched_over = true;
    return 1;
}

static void free_waits(struct probe *p)
{
    sched_free(&p->sched);
    p->sched_over = false;
}

static int see_waits(struct probe *p, char *why, size_t len)
{
    struct sched_sees sees = {anybody_wants(p, waits_bit(p, PROBE_WAKEUP)), anybody_wants(p, waits_bit(p, PROBE_LOCK))};
    bool wanted = anybody_wants(p, wait_events(p));
    why[0] = 0;
    if (!wanted)
        return end_waits(p);
    if (p->sched_over)
        free_waits(p);
    bool begins = !p->sched;
    int rc = begins ? sched_start(&p->sched, p, sees, why, len) : 0;
    if (rc)
        return rc;
    if (!begins)
        sched_see(p->sched, p, sees, why, len);
    if (why[0] && p->unseen_told)
        why[0] = 0;
    p->unseen_told |= why[0] != 0;
    return begins;
}

static int see_kinds(struct probe *p, char *why, size_t len)
{
    u32 events = kind_events(p);
    if (!p->kinds && (!events || kinds_new(&p->kinds)))
        return events ? -ENOMEM : 0;
    return kinds_see(p->kinds, p, events, why, len);
}

/* Appends a line. */
static void say_too(char *why, size_t len, const char *line)
{
    size_t said = strnlen(why, len - 1);
    if (line[0])
        snprintf(why + said, len - said, "%s%s", said ? "; " : "", line);
}

static void see_bytes(struct probe *p)
{
    u64 bytes = (p->sched ? sched_map_bytes(p->sched) : 0) + (p->kinds ? kinds_map_bytes(p->kinds) : 0);
    __atomic_store_n(&p->wait_bytes, bytes, __ATOMIC_RELAXED);
}

/* Waits count from when they are followed on, so that is last. */
int waits_start(struct probe *p, char *why, size_t len)
{
    char of_kinds[160] = "";
    p->wants_seen = __atomic_load_n((u32 *)&p->skel->bss->xp_live.wants, __ATOMIC_ACQUIRE);
    int kinds = see_kinds(p, of_kinds, sizeof(of_kinds)), waits = see_waits(p, why, len);
    say_too(why, len, of_kinds);
    see_bytes(p);
    return waits < 0 ? waits : kinds < 0 ? kinds : waits | kinds;
}

bool waits_changed(const struct probe *p)
{
    return p->wants_seen != __atomic_load_n((u32 *)&p->skel->bss->xp_live.wants, __ATOMIC_ACQUIRE);
}

void waits_stop(struct probe *p)
{
    if (p->kinds)
        kinds_see_costs(p->kinds, p); /* up to the end */
    if (p->sched)
        sched_stop(p->sched);
    if (p->kinds)
        kinds_stop(p->kinds);
}

u32 probe_see_costs(struct probe *p)
{
    return p->running && p->kinds ? kinds_see_costs(p->kinds, p) : 0;
}

bool probe_may_rest(const struct probe *p)
{
    return p->running && p->kinds && p->config.max_cost && kinds_may_cost(p->kinds);
}

bool probe_rests(const struct probe *p, size_t event)
{
    return __atomic_load_n(&p->resting, __ATOMIC_RELAXED) >> event & 1;
}

int probe_cost(const struct probe *p, size_t event, struct probe_cost *out)
{
    cost_copy(out, &p->costs[event]);
    return out->hits || out->on_ns ? 0 : -ENOENT;
}

void waits_end(struct probe *p)
{
    free_waits(p);
    kinds_free(&p->kinds);
}

void probe_waits_free(struct probe_waits *w)
{
    vec_free(&w->sums);
    vec_free(&w->kinds);
    vec_free(&w->sleepers);
    vec_free(&w->mappings);
}

int probe_take_waits(struct probe *p, const struct probe_handlers *h, struct probe_waits *out)
{
    bool kinds = p->kinds && kinds_any(p->kinds);
    if (!p->sched && !kinds)
        return 0;
    p->handlers = h;
    int told = p->sched ? sched_tell(p->sched, p->ring, out) : 0;
    int caught_up = kinds ? kinds_catch_up(p->kinds) : 0;
    u32 ended = __atomic_fetch_add((u32 *)&p->skel->bss->xp_live.interval, 1, __ATOMIC_RELEASE);
    usleep(GRACE_US);
    int waits = p->sched ? sched_take(p->sched, ended, out) : 0;
    int sums = kinds ? kinds_take(p->kinds, p, ended, out) : 0;
    p->handlers = NULL;
    if (p->sched_over) {
        free_waits(p);
        see_bytes(p);
    }
    return told ? told : waits ? waits : sums ? sums : caught_up;
}
