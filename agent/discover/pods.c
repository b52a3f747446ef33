/* Pods and namespaces as they come and go: what they want, how fast the kernel samples for it, who is told. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "discover/discover_internal.h"
#include <errno.h>
#include <string.h>

#define FORBIDDEN_NS (15 * NS_PER_SEC) /* a server that has just started forbids everything for a moment */

/* Everybody's share of the samples hangs on the rate at which the kernel side takes them: true when that changed. When
 * it has to be lowered, what pods request beyond the rate of all goes first. */
static bool adjust_rate(struct discover *d)
{
    unsigned rate = d->inventory.rules->rate, hz = inventory_highest_rate(&d->inventory) * d->share / 100;
    unsigned reference = hz > rate ? hz : rate;
    hz = hz ? hz : 1;
    if (hz != d->hz)
        d->config.sampler.set_rate(d->config.sampler.ctx, hz);
    d->hz = hz;
    bool changed = reference != d->inventory.hz;
    d->inventory.hz = reference;
    return changed;
}

void pods_settle(struct discover *d)
{
    unsigned share = __atomic_load_n(&d->next_share, __ATOMIC_RELAXED);
    d->unsettled |= share != d->share;
    d->share = share;
    if (!d->unsettled && !d->judge_all && !d->inventory.changed)
        return;
    bool all = adjust_rate(d) || d->judge_all || d->parts.full;
    d->unsettled = d->judge_all = d->inventory.changed = false;
    if (all)
        notify_all(d);
    for (size_t i = 0; i < d->inventory.pods.n; i++) {
        struct inventory_pod *p = &d->inventory.pods.v[i];
        if (p->changed && !all)
            notify_pod(d, p->pod->runtime_uid);
        p->changed = false;
    }
}

void pods_warn_of(struct discover *d, const struct inventory_pod *p)
{
    for (size_t i = 0; i < p->wants.nwarnings; i++) {
        d->warnings++;
        log_warn("pod %s/%s: %s", p->pod->namespace, p->pod->name, p->wants.warnings[i]);
        if (d->inventory.rules->pod_events && d->kube)
            kube_queue_event(d->kube, p->pod, "ProfileAnnotation", p->wants.warnings[i]);
    }
}

/* The runtime's uid of a pod that is known; NULL: none, or no memory. Owned by the caller. */
static char *runtime_uid_of(const struct discover *d, const char *uid)
{
    for (size_t i = 0; i < d->inventory.pods.n; i++)
        if (!strcmp(d->inventory.pods.v[i].pod->uid, uid))
            return strdup(d->inventory.pods.v[i].pod->runtime_uid);
    return NULL;
}

void pods_put(struct discover *d, struct kube_pod *pod)
{
    bool warn;
    AUTO_FREE char *uid = strdup(pod->runtime_uid), *before = runtime_uid_of(d, pod->uid);
    if (!uid || inventory_put_pod(&d->inventory, pod, &warn))
        return;
    const struct inventory_pod *p = inventory_find_pod(&d->inventory, uid);
    if (warn && p)
        pods_warn_of(d, p);
    if (before && strcmp(before, uid) != 0) /* it said that it mirrors another one */
        notify_pod(d, before);
}

static void add_pairs(struct kube_pairs *to, const struct container_pairs *from)
{
    for (u32 i = 0; i < from->n; i++)
        if (strncmp(from->v[i].key, "io.kubernetes.", 14) != 0) /* the runtime's own bookkeeping */
            kube_pairs_add(to, from->v[i].key, from->v[i].value);
}

/* What a runtime tells of a sandbox is enough for a pod: its labels and the annotations that it was made with. */
void pods_put_sandbox(struct discover *d, const struct container *c)
{
    struct kube_pod *pod;
    if (c->starved || !c->is.pod[0] || !c->pod[0] || kube_pod_new(&pod, c->is.pod, c->namespace_, c->pod))
        return;
    add_pairs(&pod->labels, &c->pod_labels);
    add_pairs(&pod->annotations, &c->pod_annotations);
    kube_pod_guess_workload(pod);
    pods_put(d, pod);
}

void pods_remove(struct discover *d, const char *uid)
{
    AUTO_FREE char *runtime_uid = runtime_uid_of(d, uid);
    if (!inventory_remove_pod(&d->inventory, uid) || !runtime_uid)
        return;
    d->unsettled = true;
    notify_pod(d, runtime_uid);
}

/* ---- Namespaces -------------------------------------------------------------------------------------------------- */

void pods_choose_keys(struct discover *d)
{
    CLEANUP(kube_keys_free) struct kube_keys *ours = NULL;
    CLEANUP(kube_keys_free) struct kube_keys *theirs = NULL;
    int rc = d->kube ? kube_keys_new(&ours, &d->rules.policy) : -ENOTSUP;
    rc = rc ? rc : kube_keys_new(&theirs, &d->rules.policy);
    if (rc == -ENOTSUP || (!rc && d->keys && kube_keys_equal(ours, d->keys)))
        return;
    namespaces_free(&d->inventory.namespaces); /* an opt-out may be missing in what was kept */
    kube_keys_free(&d->keys);
    d->keys_number++;
    if (rc)
        return;
    d->keys = TAKE_PTR(ours);
    theirs->number = d->keys_number;
    kube_set_keys(d->kube, &theirs);
}

void pods_put_namespace(struct discover *d, struct kube_namespace *ns)
{
    if (ns->keys != d->keys_number) {
        kube_namespace_free(&ns);
        return;
    }
    inventory_put_namespace(&d->inventory, ns);
}

void pods_remove_namespace(struct discover *d, const char *name)
{
    inventory_remove_namespace(&d->inventory, name);
}

void pods_give_up_namespaces(struct discover *d)
{
    d->inventory.without_namespaces = true;
    inventory_decide_pods(&d->inventory);
}

/* All were listed: from now on an unknown one is waited for, also when an earlier answer made us give up. */
void pods_take_namespaces(struct discover *d)
{
    d->namespaces = true;
    if (!d->inventory.without_namespaces)
        return;
    d->inventory.without_namespaces = false;
    inventory_decide_pods(&d->inventory);
}

/* Pods may be read, but namespaces not: their annotations are nobody's. */
void pods_look_for_namespaces(struct discover *d)
{
    struct kube_stats s;
    if (d->inventory.without_namespaces || d->namespaces || !d->synced || now_ns() - d->started_ns < FORBIDDEN_NS)
        return;
    kube_stats(d->kube, &s);
    if (s.errors[KUBE_ERROR_FORBIDDEN])
        pods_give_up_namespaces(d);
}
