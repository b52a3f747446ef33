#include "kube/pod.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "kube/annotations.h"
#include "kube/workload.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int set_text(char **field, const char *text, size_t n)
{
    char *copy = strndup(text, n < KUBE_TEXT_MAX ? n : KUBE_TEXT_MAX);
    if (!copy)
        return -ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}

int kube_pod_set(char **field, const char *text)
{
    return set_text(field, text, strlen(text));
}

/* A member that is no text is like one that is not there. */
static int set_member(char **field, const struct json *j, const char *key, unsigned *left_out)
{
    const char *text = json_get_text(j, key);
    *left_out += text && strlen(text) > KUBE_TEXT_MAX;
    return kube_pod_set(field, text ? text : "");
}

struct filling { /* pairs that are being filled from a JSON object */
    struct kube_pairs *pairs;
    const struct kube_key_list *only; /* NULL: all keys */
    unsigned *left_out;
    int rc;
};

static bool add_pair(void *ctx, const char *key, const struct json *value)
{
    struct filling *f = ctx;
    const char *text = json_text(value);
    char cut[ANNOTATION_MAX + 2]; /* still too long, so that it is no valid value */
    if (f->only && !kube_key_listed(f->only, key))
        return true;
    if (f->only && text && strlen(text) > ANNOTATION_MAX) {
        snprintf(cut, sizeof(cut), "%s", text);
        text = cut;
    }
    int rc = text && strlen(key) <= KUBE_TEXT_MAX ? kube_pairs_add(f->pairs, key, text) : -EBADMSG;
    if (rc == -ENOMEM)
        f->rc = rc;
    *f->left_out += rc != 0;
    return !f->rc;
}

static int fill_pairs(struct kube_pairs *pairs, const struct kube_key_list *only, const struct json *object,
                      unsigned *left_out)
{
    struct filling f = {pairs, only, left_out, 0};
    json_members(object, add_pair, &f);
    return f.rc;
}

/* "containerd://9f3c.." -> "9f3c.." */
static const char *without_scheme(const char *id)
{
    const char *s = id ? strstr(id, "://") : NULL;
    return s ? s + 3 : id ? id : "";
}

static struct kube_container *find_container(const struct kube_pod *p, const char *name)
{
    for (size_t i = 0; i < p->ncontainers; i++)
        if (!strcmp(p->containers[i].name, name))
            return &p->containers[i];
    return NULL;
}

static int add_container(struct kube_pod *p, const struct json *spec, struct kube_container flags)
{
    const char *name = json_get_text(spec, "name");
    if (!name || p->ncontainers == KUBE_CONTAINERS_MAX) {
        p->left_out++;
        return 0;
    }
    struct kube_container *c = &p->containers[p->ncontainers++];
    *c = flags;
    int rc = kube_pod_set(&c->name, name);
    rc = rc ? rc : kube_pod_set(&c->id, "");
    rc = rc ? rc : kube_pod_set(&c->last_id, "");
    return rc ? rc : set_member(&c->image, spec, "image", &p->left_out);
}

static int add_status(struct kube_pod *p, const struct json *status)
{
    const char *name = json_get_text(status, "name");
    struct kube_container *c = name ? find_container(p, name) : NULL;
    if (!c)
        return 0;
    c->running = json_at_path(status, "state.running") != NULL;
    int rc = kube_pod_set(&c->id, without_scheme(json_get_text(status, "containerID")));
    const struct json *last = json_at_path(status, "lastState.terminated");
    rc = rc ? rc : kube_pod_set(&c->last_id, without_scheme(json_get_text(last, "containerID")));
    return rc || *c->image ? rc : set_member(&c->image, status, "image", &p->left_out);
}

static int fill_containers(struct kube_pod *p, const struct json *spec, const struct json *status)
{
    static const struct {
        const char *specs, *statuses;
        bool init, ephemeral;
    } lists[] = {{"containers", "containerStatuses", false, false},
                 {"initContainers", "initContainerStatuses", true, false},
                 {"ephemeralContainers", "ephemeralContainerStatuses", false, true}};
    size_t room = 0;
    int rc = 0;
    for (size_t l = 0; l < 3; l++)
        room += json_count(json_get(spec, lists[l].specs));
    p->containers = calloc(room < KUBE_CONTAINERS_MAX ? room + 1 : KUBE_CONTAINERS_MAX, sizeof(*p->containers));
    if (!p->containers)
        return -ENOMEM;
    for (size_t l = 0; l < 3; l++) {
        struct kube_container flags = {.init = lists[l].init, .ephemeral = lists[l].ephemeral};
        const struct json *specs = json_get(spec, lists[l].specs), *statuses = json_get(status, lists[l].statuses);
        for (size_t i = 0, n = json_count(specs); i < n && !rc; i++)
            rc = add_container(p, json_item(specs, i), flags);
        for (size_t i = 0, n = json_count(statuses); i < n && !rc; i++)
            rc = add_status(p, json_item(statuses, i));
    }
    return rc;
}

static int set_workload(struct kube_pod *p, struct workload w)
{
    int rc = kube_pod_set(&p->workload_kind, w.kind);
    return rc ? rc : set_text(&p->workload_name, w.name, w.name_len);
}

static int fill_workload(struct kube_pod *p, const struct json *owners)
{
    for (size_t i = 0, n = json_count(owners); i < n; i++) {
        const struct json *owner = json_item(owners, i);
        const char *kind = json_get_text(owner, "kind"), *name = json_get_text(owner, "name");
        /* a mirror pod's owner is the node, which is no workload */
        if (kind && name && json_get_bool(owner, "controller", false) && strcmp(kind, "Node") != 0)
            return set_workload(p, workload_of_owner(kind, name, &p->labels));
    }
    return 0;
}

int kube_pod_guess_workload(struct kube_pod *p)
{
    return *p->workload_kind ? 0 : set_workload(p, workload_of_labels(p->name, &p->labels));
}

/* "2026-01-31T09:30:00Z"; 0 when it is not there or not so. */
static u64 seconds_of(const char *rfc3339)
{
    struct tm tm = {0};
    const char *end = rfc3339 ? strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    time_t t = end && *end == 'Z' ? timegm(&tm) : 0;
    return t > 0 ? (u64)t : 0;
}

int kube_pod_new(struct kube_pod **out, const char *uid, const char *namespace, const char *name)
{
    CLEANUP(kube_pod_free) struct kube_pod *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    char **const empty[] = {&p->node, &p->phase, &p->ip, &p->resource_version, &p->workload_kind, &p->workload_name};
    int rc = kube_pod_set(&p->uid, uid);
    rc = rc ? rc : kube_pod_set(&p->runtime_uid, uid);
    rc = rc ? rc : kube_pod_set(&p->namespace, namespace);
    rc = rc ? rc : kube_pod_set(&p->name, name);
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]) && !rc; i++)
        rc = kube_pod_set(empty[i], "");
    if (rc)
        return rc;
    *out = TAKE_PTR(p);
    return 0;
}

static void free_container(struct kube_container *c)
{
    free(c->name);
    free(c->id);
    free(c->last_id);
    free(c->image);
}

void kube_pod_free(struct kube_pod **pod)
{
    struct kube_pod *p = *pod;
    *pod = NULL;
    if (!p)
        return;
    char *const texts[] = {p->uid,   p->runtime_uid, p->namespace,        p->name,          p->node,
                           p->phase, p->ip,          p->resource_version, p->workload_kind, p->workload_name};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(texts[i]);
    for (size_t i = 0; i < p->ncontainers; i++)
        free_container(&p->containers[i]);
    free(p->containers);
    kube_pairs_free(&p->labels);
    kube_pairs_free(&p->annotations);
    free(p);
}

static int fill_metadata(struct kube_pod *p, const struct json *meta)
{
    int rc = fill_pairs(&p->labels, NULL, json_get(meta, "labels"), &p->left_out);
    rc = rc ? rc : fill_pairs(&p->annotations, NULL, json_get(meta, "annotations"), &p->left_out);
    rc = rc ? rc : set_member(&p->resource_version, meta, "resourceVersion", &p->left_out);
    rc = rc ? rc : fill_workload(p, json_get(meta, "ownerReferences"));
    p->deleting = json_get_text(meta, "deletionTimestamp") != NULL;
    const char *mirror = kube_pairs_get(&p->annotations, "kubernetes.io/config.mirror");
    return rc || !mirror ? rc : kube_pod_set(&p->runtime_uid, mirror);
}

int kube_pod_from_json(struct kube_pod **out, const struct json *j)
{
    CLEANUP(kube_pod_free) struct kube_pod *p = NULL;
    const struct json *meta = json_get(j, "metadata"), *spec = json_get(j, "spec"), *status = json_get(j, "status");
    const char *uid = json_get_text(meta, "uid"), *namespace = json_get_text(meta, "namespace"),
               *name = json_get_text(meta, "name");
    if (!uid || !*uid || !namespace || !*namespace || !name || !*name)
        return -EBADMSG;
    int rc = kube_pod_new(&p, uid, namespace, name);
    rc = rc ? rc : fill_metadata(p, meta);
    rc = rc ? rc : set_member(&p->node, spec, "nodeName", &p->left_out);
    rc = rc ? rc : set_member(&p->phase, status, "phase", &p->left_out);
    rc = rc ? rc : set_member(&p->ip, status, "podIP", &p->left_out);
    rc = rc ? rc : fill_containers(p, spec, status);
    if (rc)
        return rc;
    p->started = seconds_of(json_get_text(status, "startTime"));
    *out = TAKE_PTR(p);
    return 0;
}

bool kube_pod_is_over(const struct kube_pod *p)
{
    return !strcmp(p->phase, "Succeeded") || !strcmp(p->phase, "Failed");
}

const struct kube_container *kube_pod_container(const struct kube_pod *p, const char *id)
{
    for (size_t i = 0; i < p->ncontainers && *id; i++)
        if (!strcmp(p->containers[i].id, id) || !strcmp(p->containers[i].last_id, id))
            return &p->containers[i];
    return NULL;
}

int kube_namespace_from_json(struct kube_namespace **out, const struct json *j, const struct kube_keys *keys)
{
    CLEANUP(kube_namespace_free) struct kube_namespace *n = calloc(1, sizeof(*n));
    const struct json *meta = json_get(j, "metadata");
    const char *name = json_get_text(meta, "name");
    if (!n)
        return -ENOMEM;
    if (!name || !*name)
        return -EBADMSG;
    int rc = kube_pod_set(&n->name, name);
    rc = rc ? rc : fill_pairs(&n->labels, &keys->labels, json_get(meta, "labels"), &n->left_out);
    rc = rc ? rc : fill_pairs(&n->annotations, &keys->annotations, json_get(meta, "annotations"), &n->left_out);
    if (rc)
        return rc;
    n->keys = keys->number;
    *out = TAKE_PTR(n);
    return 0;
}

void kube_namespace_free(struct kube_namespace **n)
{
    if (!*n)
        return;
    free((*n)->name);
    kube_pairs_free(&(*n)->labels);
    kube_pairs_free(&(*n)->annotations);
    free(*n);
    *n = NULL;
}
