#include "pipeline/machines.h"
#include "base/cleanup.h"
#include "base/shares.h"
#include "base/vec.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

struct machine {
    struct xp_process_key key;
    struct xp_machine value;
    u64 owner; /* whose share it counts against */
};
struct machines {
    struct probe *probe;
    VEC(struct machine) list;
    struct shares shares; /* of XP_MAX_MACHINES */
    bool share;
    u64 refused;
};

int machines_new(struct machines **out, struct probe *probe, bool share)
{
    struct machines *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    *m = (struct machines){.probe = probe, .share = share, .shares = {.limit = XP_MAX_MACHINES}};
    *out = m;
    return 0;
}

void machines_free(struct machines **mm)
{
    struct machines *m = *mm;
    if (!m)
        return;
    vec_free(&m->list);
    shares_free(&m->shares);
    free(m);
    *mm = NULL;
}

static void forget(struct machines *m, size_t i)
{
    probe_forget_machine(m->probe, &m->list.v[i].key);
    shares_give(&m->shares, m->list.v[i].owner, 1);
    m->list.v[i] = m->list.v[--m->list.n];
}

/* A process may have executed another program: its old one is forgotten. */
static void forget_process(struct machines *m, const struct code_owner *who)
{
    for (size_t i = 0; i < m->list.n; i++)
        if (m->list.v[i].key.tgid == who->tgid && m->list.v[i].key.process == who->start) {
            forget(m, i);
            return;
        }
}

void machines_put(struct machines *m, const struct code_owner *who, const struct xp_machine *value)
{
    struct machine fresh = {.key = {.process = who->start, .stack = who->stack, .tgid = who->tgid},
                            .value = *value,
                            .owner = m->share ? who->cgroup : SHARES_ALL};
    forget_process(m, who);
    bool room = !VEC_RESERVE(&m->list, m->list.n + 1) && shares_take(&m->shares, fresh.owner, 1);
    if (room && !probe_publish_machine(m->probe, &fresh.key, value)) {
        m->list.v[m->list.n++] = fresh;
        probe_files_changed(m->probe);
        return;
    }
    shares_give(&m->shares, fresh.owner, room);
    m->refused++;
}

bool machines_find(const struct machines *m, u32 tgid, u64 start, struct xp_machine *out)
{
    for (size_t i = 0; i < m->list.n; i++)
        if (m->list.v[i].key.tgid == tgid && m->list.v[i].key.process == start) {
            *out = m->list.v[i].value;
            return true;
        }
    return false;
}

void machines_age(struct machines *m)
{
    for (size_t i = m->list.n; i--;)
        if (kill((pid_t)m->list.v[i].key.tgid, 0) && errno == ESRCH)
            forget(m, i);
}

struct machines_stats machines_stats(const struct machines *m)
{
    return (struct machines_stats){.processes = m->list.n, .refused = m->refused};
}
