/* What is due: the scan, the names, the first processes, the end of the ended. */
#include "base/cleanup.h"
#include "container/containers_internal.h"
#include "container/init.h"
#include <errno.h>
#include <string.h>

#define FIRST_INIT_NS   20000000ull    /* doubled after each look that found no container yet */
#define LONGEST_INIT_NS 60000000000ull /* those in the host's PID namespace have none */
#define POD_MISSES      10             /* re-scans without a sign of a pod whose cgroup is out of sight */
#define GROUP_MISSES    2

struct scan {
    struct containers *c;
    u64 now;
    bool late;
};

static void take_init(struct containers *c, struct entry *e, const struct init *in)
{
    e->next_init = 0;
    e->c.init_pid = in->pid;
    e->c.init_start = in->start;
    e->c.pid_ns = in->pid_ns;
    containers_changed(c, e);
}

static bool seen(void *ctx, u64 id, const char *path, u32 pid)
{
    const struct scan *s = ctx;
    struct init in;
    containers_add(s->c, id, path, s->now, s->late);
    struct entry *e = pid ? containers_entry(s->c, id) : NULL;
    if (e && e->next_init && !init_of_process(&in, pid))
        take_init(s->c, e, &in);
    return true;
}

/* Without the tree, a scan sees groups with processes in them only: one look is no proof that a group is gone. */
static bool is_missing(const struct containers *c, struct entry *e)
{
    u64 id;
    if (e->scan == c->scan) {
        e->missed = 0;
        return false;
    }
    e->missed++;
    if (c->config.hierarchy.whole)
        return hierarchy_id_of(&c->config.hierarchy, 0, e->c.path, &id) || id != e->c.cgroup;
    return e->missed >= (e->c.is.kind == CGROUP_POD ? POD_MISSES : GROUP_MISSES);
}

static void rescan(struct containers *c, u64 now)
{
    struct scan s = {c, now, c->stats.rescans > 0};
    c->scan++;
    c->next_scan = now + c->config.rescan_ns;
    int rc = c->config.hierarchy.whole ? hierarchy_scan(&c->config.hierarchy, seen, &s)
                                       : hierarchy_scan_processes(&c->config.hierarchy, seen, &s);
    c->stats.rescans++;
    c->stats.full += rc == -E2BIG;
    for (size_t i = 0; rc >= 0 && i < c->all.n; i++)
        if (!c->all.v[i]->c.ended_ns && is_missing(c, c->all.v[i])) {
            c->stats.lost_late++;
            containers_end(c, c->all.v[i], now);
        }
}

static void look_for_init(struct containers *c, struct entry *e, u64 now)
{
    struct init in;
    u64 wait = FIRST_INIT_NS << (e->init_tries < 12 ? e->init_tries : 12);
    e->init_tries++;
    e->next_init = now + (wait < LONGEST_INIT_NS ? wait : LONGEST_INIT_NS);
    if (!init_find(&in, &c->config.hierarchy, e->c.path))
        take_init(c, e, &in);
}

/* Those about whom something is still open. */
static void settle(struct containers *c, u64 now)
{
    size_t n = 0;
    for (size_t i = 0; i < c->pending.n; i++) {
        struct entry *e = c->pending.v[i];
        if (e->next_init && e->next_init <= now)
            look_for_init(c, e, now);
        e->pending = e->next_init || e->next_ask;
        if (e->pending)
            c->pending.v[n++] = e;
    }
    c->pending.n = n;
}

static void expire(struct containers *c, u64 now)
{
    c->next_expiry = 0;
    for (size_t i = c->all.n; i-- > 0;) { /* backwards: dropping moves the last one here */
        struct entry *e = c->all.v[i];
        u64 until = e->c.ended_ns + c->config.grace_ns;
        if (!e->c.ended_ns)
            continue;
        if (until <= now)
            containers_drop(c, e);
        else if (!c->next_expiry || until < c->next_expiry)
            c->next_expiry = until;
    }
}

u64 containers_due(const struct containers *c)
{
    u64 due = c->next_scan;
    if (c->next_expiry && c->next_expiry < due)
        due = c->next_expiry;
    for (size_t i = 0; i < c->pending.n; i++) {
        const struct entry *e = c->pending.v[i];
        if (e->next_init && e->next_init < due)
            due = e->next_init;
        if (e->next_ask && e->next_ask < due)
            due = e->next_ask;
    }
    return due;
}

void containers_tick(struct containers *c, u64 now)
{
    bool scanned = now >= c->next_scan;
    if (c->next_expiry && now >= c->next_expiry)
        expire(c, now);
    if (scanned)
        rescan(c, now);
    settle(c, now);
    if (scanned || c->pending.n)
        containers_ask(c, now, scanned);
}
