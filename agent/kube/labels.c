#include "kube/labels.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct making {
    struct label_set set;
    unsigned left_out;
    int rc;
};

static void add(struct making *m, const char *name, const char *value)
{
    int rc = m->rc || !value ? 0 : labels_add(&m->set, name, value);
    if (rc == -ENOSPC)
        m->left_out++;
    else if (rc)
        m->rc = rc;
}

static bool some(const char *text)
{
    return text && *text;
}

static const char *service_name(const struct kube_pod *pod, const struct wants *wants, const char *container)
{
    const char *const order[] = {
        wants ? wants->service_name : NULL,
        kube_pairs_get(&pod->annotations, "resource.opentelemetry.io/service.name"),
        kube_pairs_get(&pod->labels, "app.kubernetes.io/instance"),
        kube_pairs_get(&pod->labels, "app.kubernetes.io/name"),
        pod->workload_name,
        pod->name,
    };
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (some(order[i]))
            return order[i];
    return container;
}

/* What follows the last ':' of the last path component, before a digest. */
static void tag_of(char out[129], const char *image)
{
    const char *slash = strrchr(image, '/'), *name = slash ? slash + 1 : image;
    const char *colon = memchr(name, ':', strcspn(name, "@"));
    snprintf(out, 129, "%.*s", colon ? (int)strcspn(colon + 1, "@") : 0, colon ? colon + 1 : "");
}

static void add_identity(struct making *m, const struct kube_pod *pod, const char *container, const struct wants *wants,
                         const char *node)
{
    char instance[3 * KUBE_TEXT_MAX];
    const char *ns = kube_pairs_get(&pod->annotations, "resource.opentelemetry.io/service.namespace");
    const char *id = kube_pairs_get(&pod->annotations, "resource.opentelemetry.io/service.instance.id");
    snprintf(instance, sizeof(instance), "%s.%s.%s", pod->namespace, pod->name, container);
    add(m, "namespace", pod->namespace);
    add(m, "pod", pod->name);
    add(m, "container", container);
    add(m, "node", node ? node : pod->node);
    add(m, "workload_kind", pod->workload_kind);
    add(m, "workload_name", pod->workload_name);
    add(m, "service_name", service_name(pod, wants, container));
    add(m, "service_namespace", some(ns) ? ns : pod->namespace);
    add(m, "service_instance_id", some(id) ? id : instance);
}

static void add_image(struct making *m, const struct kube_pod *pod, const struct kube_container *c,
                      const struct kube_label_options *o)
{
    const char *version = kube_pairs_get(&pod->labels, "app.kubernetes.io/version");
    char tag[129] = "";
    if (c)
        tag_of(tag, c->image);
    if (o->image && c)
        add(m, "image", c->image);
    if (o->version)
        add(m, "version", some(version) ? version : tag);
}

int kube_labels(struct label_set *out, const struct kube_pod *pod, const char *container,
                const struct kube_container *c, const struct wants *wants, const struct kube_label_options *o,
                unsigned *left_out)
{
    struct making m = {0};
    add_identity(&m, pod, container, wants, o->node);
    for (size_t i = 0; o->external && i < o->external->n; i++)
        add(&m, o->external->v[i].name, o->external->v[i].value);
    add_image(&m, pod, c, o);
    for (size_t i = 0; i < o->npod_labels; i++)
        add(&m, o->pod_labels[i], kube_pairs_get(&pod->labels, o->pod_labels[i]));
    if (m.rc) {
        labels_free(&m.set);
        return m.rc;
    }
    *out = m.set;
    if (left_out)
        *left_out = m.left_out;
    return 0;
}
