#include "discover/inventory.h"
#include "base/cleanup.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHORT_ID 12 /* characters of a container's id, as docker ps shows it */

void inventory_free(struct inventory *w)
{
    for (size_t i = 0; i < w->pods.n; i++)
        kube_pod_free(&w->pods.v[i].pod);
    namespaces_free(&w->namespaces);
    vec_free(&w->pods);
}

/* ---- Pods and namespaces ------------------------------------------------------------------------------------------
 */

static void decide_pod(const struct inventory *w, struct inventory_pod *p)
{
    const struct kube_namespace *ns = namespaces_find(&w->namespaces, p->pod->namespace);
    struct policy_facts facts = {
        .namespace = p->pod->namespace,
        .annotations = &p->pod->annotations,
        .labels = &p->pod->labels,
        .namespace_annotations = ns ? &ns->annotations : NULL,
        .namespace_labels = ns ? &ns->labels : NULL,
    };
    const struct policy *policy = &w->rules->policy;
    policy_decide(&p->wants, policy, &facts);
    if (ns || w->without_namespaces || w->source != DISCOVER_BY_KUBE)
        return;
    if (policy->targeting == POLICY_ANNOTATION && !policy->namespaces) /* the pod asks for itself */
        return;
    p->wants.profiled = false;
    snprintf(p->wants.reason, sizeof(p->wants.reason), "the namespace of the pod is not known yet");
}

int inventory_put_pod(struct inventory *w, struct kube_pod *pod, bool *warn)
{
    struct inventory_pod *p = NULL;
    struct wants old = {0};
    for (size_t i = 0; i < w->pods.n && !p; i++)
        if (!strcmp(w->pods.v[i].pod->uid, pod->uid))
            p = &w->pods.v[i];
    if (p) {
        old = p->wants;
        kube_pod_free(&p->pod);
    } else if (!(p = VEC_PUSH(&w->pods))) {
        kube_pod_free(&pod);
        return -ENOMEM;
    }
    p->pod = pod;
    p->changed = w->changed = true;
    decide_pod(w, p);
    *warn = p->wants.nwarnings && (p->wants.nwarnings != old.nwarnings ||
                                   memcmp(p->wants.warnings, old.warnings, sizeof(old.warnings[0]) * old.nwarnings));
    return 0;
}

bool inventory_remove_pod(struct inventory *w, const char *uid)
{
    for (size_t i = 0; i < w->pods.n; i++) {
        if (strcmp(w->pods.v[i].pod->uid, uid) != 0)
            continue;
        kube_pod_free(&w->pods.v[i].pod);
        w->pods.v[i] = w->pods.v[--w->pods.n];
        return true;
    }
    return false;
}

/* Any pod may say by annotation that it mirrors a static one: who has that uid itself is believed first, and of several
 * who say so nobody, but for one that comes while the others are being deleted. */
static const struct inventory_pod *find_pod(const struct inventory *w, const char *runtime_uid, bool *several)
{
    const struct inventory_pod *mirrors[2] = {NULL, NULL}; /* by whether it is being deleted */
    size_t n[2] = {0, 0};
    for (size_t i = 0; i < w->pods.n; i++) {
        const struct inventory_pod *p = &w->pods.v[i];
        if (!strcmp(p->pod->uid, runtime_uid))
            return p;
        if (!strcmp(p->pod->runtime_uid, runtime_uid)) {
            mirrors[p->pod->deleting] = p;
            n[p->pod->deleting]++;
        }
    }
    bool deleting = n[0] == 0;
    *several = n[deleting] > 1;
    return *several ? NULL : mirrors[deleting];
}

const struct inventory_pod *inventory_find_pod(const struct inventory *w, const char *runtime_uid)
{
    bool several;
    return find_pod(w, runtime_uid, &several);
}

static void decide_again(struct inventory *w, struct inventory_pod *p)
{
    struct wants old = p->wants;
    decide_pod(w, p);
    p->changed |= !wants_same(&old, &p->wants);
    w->changed |= p->changed;
}

static void decide_pods_of(struct inventory *w, const char *namespace)
{
    for (size_t i = 0; i < w->pods.n; i++)
        if (!strcmp(w->pods.v[i].pod->namespace, namespace))
            decide_again(w, &w->pods.v[i]);
}

int inventory_put_namespace(struct inventory *w, struct kube_namespace *ns)
{
    AUTO_FREE char *name = strdup(ns->name);
    int rc = namespaces_put(&w->namespaces, ns);
    if (name)
        decide_pods_of(w, name);
    return name ? rc : -ENOMEM;
}

void inventory_remove_namespace(struct inventory *w, const char *name)
{
    namespaces_remove(&w->namespaces, name);
    decide_pods_of(w, name);
}

void inventory_decide_pods(struct inventory *w)
{
    for (size_t i = 0; i < w->pods.n; i++)
        decide_again(w, &w->pods.v[i]);
}

static unsigned highest_of_pod(const struct wants *wants)
{
    unsigned highest = wants->profiled ? wants->rate : 0;
    for (size_t e = 0; e < XP_MAX_EVENTS; e++)
        if (wants->events >> e & 1 && wants->rates[e] > highest)
            highest = wants->rates[e];
    return highest;
}

unsigned inventory_highest_rate(const struct inventory *w)
{
    unsigned highest = w->rules->rate;
    for (size_t i = 0; i < w->pods.n; i++) {
        unsigned rate = highest_of_pod(&w->pods.v[i].wants);
        highest = rate > highest ? rate : highest;
    }
    return highest;
}

/* ---- Verdicts -----------------------------------------------------------------------------------------------------
 */

void verdict_free(struct verdict *v)
{
    identity_free(&v->identity);
}

__attribute__((format(printf, 2, 3))) static void because(struct verdict *v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v->reason, sizeof(v->reason), fmt, ap);
    va_end(ap);
}

static void want(struct verdict *v, u64 want)
{
    v->own = true;
    v->want = want;
}

/* One sample of so many is kept for a rate: the kernel side samples at w->hz. */
static u16 every_for(const struct inventory *w, unsigned rate)
{
    unsigned every = rate && rate < w->hz ? (w->hz + rate / 2) / rate : 1;
    return (u16)(every < XP_WANT_EVERY_MAX ? every : XP_WANT_EVERY_MAX);
}

static u64 want_at(const struct inventory *w, u32 events, unsigned rate)
{
    return XP_WANT(events, every_for(w, rate));
}

/* The rates of single events. */
static u64 want_parts(const struct inventory *w, const struct wants *wants)
{
    static const struct xp_parts none;
    struct xp_parts parts = none;
    for (size_t e = 0; e < XP_MAX_EVENTS; e++)
        if (wants->events >> e & 1 && wants->rates[e])
            parts.every[e] = every_for(w, wants->rates[e]);
    return w->parts && memcmp(&parts, &none, sizeof(none)) ? XP_WANT_PARTS(parts_row(w->parts, &parts)) : 0;
}

/* The code of the greatest time that is no longer; 0: the default. */
static u32 min_code(u64 ns)
{
    u32 code = ns ? 1 : 0;
    while (code && code + 1 < XP_WANT_MIN_CODES && XP_WANT_MIN_NS(code + 1) <= ns)
        code++;
    return code;
}

static u64 pod_want(const struct inventory *w, const struct wants *wants)
{
    if (!wants->profiled)
        return XP_WANT(0, 1);
    return want_at(w, wants->events, wants->rate ? wants->rate : w->rules->rate) | want_parts(w, wants) |
           XP_WANT_MIN(min_code(wants->offcpu_min_ns)) | XP_WANT_LOCK(min_code(wants->lock_min_ns));
}

static bool matches(const char *pattern, const char *text)
{
    return !pattern || policy_glob(pattern, text ? text : "");
}

static const struct target_rule *rule_for(const struct inventory *w, const struct container *c,
                                          const struct kube_pod *pod)
{
    for (size_t i = 0; i < w->rules->nrules; i++) {
        const struct target_rule *r = &w->rules->rules[i];
        if (matches(r->container_id, c->is.id) && matches(r->name, c->name) && matches(r->image, c->image) &&
            matches(r->unit, c->is.unit) && matches(r->pod, pod ? pod->name : NULL) &&
            matches(r->namespace, pod ? pod->namespace : NULL))
            return r;
    }
    return NULL;
}

static int add_all(struct label_set *to, const struct label_set *from)
{
    for (size_t i = 0; from && i < from->n; i++)
        if (labels_set(to, from->v[i].name, from->v[i].value) == -ENOMEM)
            return -ENOMEM;
    return 0;
}

/* What the configuration's targets say: their labels; false when they leave this one out. */
static bool apply_rules(const struct inventory *w, const struct container *c, const struct kube_pod *pod,
                        struct verdict *v)
{
    const struct target_rule *r = rule_for(w, c, pod);
    if (v->identity)
        add_all(&v->identity->labels, r ? r->labels : w->rules->default_labels);
    if (r || !w->rules->targets_only)
        return true;
    if (v->identity) /* a program in it may have a target of its own */
        v->identity->by_rule = w->rules->nprocesses > 0;
    return w->rules->nprocesses > 0;
}

static void leave_out(struct verdict *v)
{
    want(v, XP_WANT(0, 1));
    if (v->identity) {
        v->identity->unwanted = true;
        v->identity->pending = false;
    }
}

static const char *unknown_pod(bool several)
{
    return several ? "several mirror pods refer to this static pod" : "a pod that is not known yet";
}

/* The cgroup of a pod that is over may stay for a while, as the pod does: nothing must be followed for its sake. */
static int verdict_of_pod(const struct inventory *w, const struct container *c, struct verdict *v)
{
    bool several = false;
    const struct inventory_pod *p = find_pod(w, c->is.pod, &several);
    bool over = p && kube_pod_is_over(p->pod);
    bool whole = p && !over && !p->wants.ncontainers; /* else each container is asked by name */
    want(v, whole ? pod_want(w, &p->wants) : XP_WANT(0, 1));
    because(v, "%s", over ? "the pod is over" : p ? p->wants.reason : unknown_pod(several));
    return 0;
}

static const char *name_in_pod(const struct container *c, const struct kube_pod *pod)
{
    const struct kube_container *k = c->name[0] ? NULL : kube_pod_container(pod, c->is.id);
    return k ? k->name : c->name;
}

static int verdict_of_pod_container(const struct inventory *w, const struct container *c, struct verdict *v)
{
    bool several = false;
    const struct inventory_pod *p = find_pod(w, c->is.pod, &several);
    if (!p) {
        v->identity->pending = true;
        because(v, "%s", unknown_pod(several));
        return 0; /* its pod's cgroup has the want */
    }
    const char *name = name_in_pod(c, p->pod);
    because(v, "%s", p->wants.reason);
    if (!p->wants.profiled) {
        leave_out(v);
        return 0;
    }
    if (p->wants.ncontainers && name[0] && !wants_container(&p->wants, name)) {
        leave_out(v);
        because(v, "the annotation names other containers");
        return 0;
    }
    if (p->wants.ncontainers)
        want(v, name[0] ? pod_want(w, &p->wants) : XP_WANT(0, 1));
    v->identity->pending = !name[0];
    int rc = kube_labels(&v->identity->labels, p->pod, name, kube_pod_container(p->pod, c->is.id), &p->wants,
                         &w->rules->labels, NULL);
    if (!rc && !apply_rules(w, c, p->pod, v)) {
        leave_out(v);
        because(v, "no target of the configuration matches");
    }
    return rc;
}

/* docker, podman: no pod. */
static int verdict_of_container(const struct inventory *w, const struct container *c, struct verdict *v)
{
    struct label_set *l = &v->identity->labels;
    char id[SHORT_ID + 1];
    snprintf(id, sizeof(id), "%.*s", SHORT_ID, c->is.id);
    const char *name = c->name[0] ? c->name : id;
    const char *service = container_pair(&c->labels, "com.docker.compose.service");
    v->identity->pending = !c->name[0];
    int rc = labels_set(l, "container", name);
    if (!rc)
        rc = labels_set(l, "container_id", id);
    if (!rc)
        rc = labels_set(l, "service_name", service ? service : name);
    if (!rc) /* "" unless Kubernetes drives the runtime, while we do not know Kubernetes */
        rc = labels_set(l, "pod", c->pod);
    if (!rc)
        rc = labels_set(l, "namespace", c->namespace_);
    if (!rc && w->rules->labels.image)
        rc = labels_set(l, "image", c->image);
    bool chosen = apply_rules(w, c, NULL, v);
    if (!chosen || !w->rules->everything)
        leave_out(v);
    else
        want(v, want_at(w, w->rules->events, w->rules->rate));
    because(v, "%s",
            !chosen                ? "no target of the configuration matches"
            : w->rules->everything ? "all containers are profiled"
                                   : "not in a pod");
    return rc == -ENOMEM ? rc : 0;
}

/* A service, or everything that runs in no container and in no service: each program for itself. */
static int verdict_of_host(const struct inventory *w, const struct container *c, struct verdict *v)
{
    int rc = 0;
    v->identity->by_program = c->is.kind != CGROUP_UNIT;
    if (c->is.kind == CGROUP_UNIT) {
        rc = labels_set(&v->identity->labels, "unit", c->is.unit);
        if (!rc)
            rc = labels_set(&v->identity->labels, "service_name", c->is.unit);
    }
    bool chosen = apply_rules(w, c, NULL, v);
    if (!chosen || !w->rules->host_processes)
        leave_out(v);
    else if (c->is.kind == CGROUP_UNIT || c->cgroup == INVENTORY_ROOT) /* all others inherit */
        want(v, want_at(w, w->rules->events, w->rules->rate));
    because(v, "%s",
            !chosen                    ? "no target of the configuration matches"
            : w->rules->host_processes ? "processes of the host are profiled"
                                       : "not in a container");
    return rc == -ENOMEM ? rc : 0;
}

int inventory_decide(const struct inventory *w, const struct container *c, struct verdict *out)
{
    *out = (struct verdict){0};
    bool pods = w->source != DISCOVER_NO_KUBE;
    if (c->is.kind == CGROUP_POD && pods)
        return verdict_of_pod(w, c, out);
    if (c->is.kind == CGROUP_POD) {
        because(out, "without Kubernetes, the containers of a pod are selected one by one");
        return 0;
    }
    out->identity = calloc(1, sizeof(*out->identity));
    if (!out->identity)
        return -ENOMEM;
    out->identity->cgroup = c->cgroup;
    if (c->is.kind != CGROUP_CONTAINER)
        return verdict_of_host(w, c, out);
    if (c->sandbox) {
        leave_out(out);
        because(out, "the pause container");
        return 0;
    }
    return c->is.pod[0] && pods ? verdict_of_pod_container(w, c, out) : verdict_of_container(w, c, out);
}
