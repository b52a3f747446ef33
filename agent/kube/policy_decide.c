#include "kube/policy.h"
#include "kube/annotations.h"
#include "base/labels.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GRAFANA_KEY "profiles.grafana.com/cpu.ebpf.enabled"

bool policy_glob(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL; /* the last '*', and where what it stands for ends */
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    return !pattern[strspn(pattern, "*")];
}

static bool listed(const char *const *patterns, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (policy_glob(patterns[i], name))
            return true;
    return false;
}

int policy_targeting_from(const char *name, enum policy_targeting *out)
{
    static const char *const names[] = {"annotation", "namespace", "all"};
    for (unsigned i = 0; i < 3; i++)
        if (!strcmp(name, names[i])) {
            *out = i;
            return 0;
        }
    return -EINVAL;
}

__attribute__((format(printf, 2, 3))) static void because(struct wants *w, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    label_clean_value(w->reason, sizeof(w->reason), text);
}

static const char *const own_names[] = {"profile", "rate", "offcpu-min", "lock-min", "containers", "service-name"};

static const char *key_of(char out[POLICY_KEY_MAX], const struct policy *p, const char *name)
{
    snprintf(out, POLICY_KEY_MAX, "%.253s/%s", p->prefix ? p->prefix : POLICY_PREFIX, name);
    return out;
}

bool policy_annotation(char key[POLICY_KEY_MAX], const struct policy *p, size_t i)
{
    size_t own = sizeof(own_names) / sizeof(own_names[0]);
    if (i < own)
        key_of(key, p, own_names[i]);
    else
        snprintf(key, POLICY_KEY_MAX, "%s", GRAFANA_KEY);
    return i <= own;
}

/* The pod's annotation, else its namespace's. */
static const char *either(const struct policy_facts *f, const char *key)
{
    const char *value = kube_pairs_get(f->annotations, key);
    return value ? value : kube_pairs_get(f->namespace_annotations, key);
}

struct asked { /* what a pod or a namespace says about being profiled */
    enum annotation_answer answer;
    u32 events;
    char key[POLICY_KEY_MAX]; /* which annotation said so */
};

/* Our own annotation, else Grafana's, which speaks of CPU profiles only. */
static struct asked ask(struct wants *w, const struct policy *p, const struct kube_pairs *annotations)
{
    struct asked a = {.answer = ANSWER_NONE};
    const char *value = kube_pairs_get(annotations, key_of(a.key, p, "profile"));
    if (value) {
        a.answer = annotation_profile(w, p, a.key, value, &a.events);
        return a;
    }
    value = kube_pairs_get(annotations, GRAFANA_KEY);
    if (!value)
        return a;
    snprintf(a.key, sizeof(a.key), "%s", GRAFANA_KEY);
    a.answer = annotation_bool(w, a.key, value);
    if (a.answer == ANSWER_YES)
        a.answer = annotation_profile(w, p, a.key, "cpu", &a.events);
    return a;
}

/* Whether the operator's lists and selectors let this pod be looked at. */
static bool admitted(struct wants *w, const struct policy *p, const struct policy_facts *f)
{
    if (listed(p->exclude, p->nexclude, f->namespace))
        because(w, "namespace %.63s is excluded", f->namespace);
    else if (p->targeting != POLICY_NAMESPACE && p->ninclude && !listed(p->include, p->ninclude, f->namespace))
        because(w, "namespace %.63s is not included", f->namespace);
    else if (p->namespaces && !f->namespace_labels) /* "notin" would hold for whoever is not known */
        because(w, "the labels of namespace %.63s are not known", f->namespace);
    else if (!selector_matches(p->namespaces, f->namespace_labels))
        because(w, "the labels of namespace %.63s are not selected", f->namespace);
    else if (!selector_matches(p->pods, f->labels))
        because(w, "the pod's labels are not selected");
    else
        return true;
    return false;
}

static void decide(struct wants *w, const struct policy *p, const struct asked *a, const char *whose)
{
    switch (a->answer) {
    case ANSWER_YES:
        w->profiled = true;
        w->events = a->events;
        because(w, "%s annotation %.255s requests profiling", whose, a->key);
        break;
    case ANSWER_NO:
        because(w, "%s annotation %.255s opts out", whose, a->key);
        break;
    case ANSWER_BAD:
        because(w, "%s annotation %.255s has no valid value", whose, a->key);
        break;
    case ANSWER_NONE:
        because(w, "no annotation requests profiling");
    }
}

static void decide_targeting(struct wants *w, const struct policy *p, const struct policy_facts *f)
{
    struct asked usual = {.answer = ANSWER_NONE};
    struct asked pod = ask(w, p, f->annotations), ns = {.answer = ANSWER_NONE};
    if (pod.answer == ANSWER_NONE || p->targeting == POLICY_NAMESPACE)
        ns = ask(w, p, f->namespace_annotations);
    if (p->targeting == POLICY_NAMESPACE && ns.answer == ANSWER_NONE && listed(p->include, p->ninclude, f->namespace))
        ns.answer = annotation_profile(w, p, "include", "true", &ns.events);
    if (p->targeting == POLICY_NAMESPACE && ns.answer != ANSWER_YES) {
        decide(w, p, &ns, "the namespace's");
        if (pod.answer == ANSWER_YES)
            because(w, "targeting is by namespace, and the namespace does not request profiling");
    } else if (pod.answer != ANSWER_NONE) {
        decide(w, p, &pod, "the pod's");
    } else if (ns.answer != ANSWER_NONE) {
        decide(w, p, &ns, "the namespace's");
    } else if (p->targeting == POLICY_ALL) {
        usual.answer = annotation_profile(w, p, "targeting", "true", &usual.events);
        decide(w, p, &usual, "");
        if (w->profiled)
            because(w, "every pod is a target");
    } else {
        decide(w, p, &usual, "");
    }
}

/* How a profiled pod wants it. */
static void read_details(struct wants *w, const struct policy *p, const struct policy_facts *f)
{
    char key[POLICY_KEY_MAX];
    const char *value = either(f, key_of(key, p, "rate"));
    if (value)
        annotation_rate(w, p, key, value);
    value = either(f, key_of(key, p, "offcpu-min"));
    if (value)
        annotation_wait_min(w, key, value, &w->offcpu_min_ns);
    value = either(f, key_of(key, p, "lock-min"));
    if (value)
        annotation_wait_min(w, key, value, &w->lock_min_ns);
    value = either(f, key_of(key, p, "service-name"));
    if (value)
        annotation_service_name(w, key, value);
    value = either(f, key_of(key, p, "containers"));
    if (value && !annotation_containers(w, key, value)) {
        w->profiled = false;
        w->events = 0;
        because(w, "%.255s names no container", key);
    }
}

/* A typo in a key would otherwise be silence. */
static void warn_of_unknown(struct wants *w, const struct policy *p, const struct kube_pairs *annotations)
{
    char own[POLICY_KEY_MAX];
    size_t n = strlen(key_of(own, p, ""));
    for (size_t i = 0; annotations && i < annotations->n; i++) {
        const char *key = annotations->v[i].key;
        bool fine = strncmp(key, own, n) != 0;
        for (size_t k = 0; k < sizeof(own_names) / sizeof(own_names[0]); k++)
            fine = fine || !strcmp(key + n, own_names[k]);
        if (!fine)
            wants_warn(w, key, "there is no such annotation");
    }
}

void policy_decide(struct wants *out, const struct policy *p, const struct policy_facts *facts)
{
    *out = (struct wants){0};
    if (!admitted(out, p, facts))
        return;
    warn_of_unknown(out, p, facts->annotations);
    decide_targeting(out, p, facts);
    if (out->profiled)
        read_details(out, p, facts);
}

bool wants_same(const struct wants *a, const struct wants *b)
{
    if (a->profiled != b->profiled || a->events != b->events || a->rate != b->rate ||
        memcmp(a->rates, b->rates, sizeof(a->rates)) != 0 || a->offcpu_min_ns != b->offcpu_min_ns ||
        a->lock_min_ns != b->lock_min_ns || a->ncontainers != b->ncontainers)
        return false;
    for (size_t i = 0; i < a->ncontainers; i++)
        if (strcmp(a->containers[i], b->containers[i]) != 0)
            return false;
    return !strcmp(a->service_name, b->service_name);
}

bool wants_container(const struct wants *w, const char *name)
{
    for (size_t i = 0; i < w->ncontainers; i++)
        if (!strcmp(w->containers[i], name))
            return w->profiled;
    return w->profiled && !w->ncontainers;
}
