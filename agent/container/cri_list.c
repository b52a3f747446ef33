#include "container/cri_list.h"
#include "base/log.h"
#include "base/utf8.h"

#include <agent/container/cri.pb-c.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SANDBOX_READY 0 /* PodSandboxState of the API */

/* protobuf-c asks for memory here: the budget ends what a small message could unpack to. */
static void *take(void *ctx, size_t n)
{
    struct cri_memory *m = ctx;
    if (n > m->left)
        return NULL;
    m->left -= n;
    return malloc(n);
}

static void give(void *ctx, void *p)
{
    free(p);
}

static ProtobufCAllocator allocator(struct cri_memory *m)
{
    return (ProtobufCAllocator){.alloc = take, .free = give, .allocator_data = m};
}

/* Text as we can hand it on, or "" and a count. */
static const char *text(struct cri_list *l, const char *s)
{
    size_t n = strlen(s), i = 0, step;
    while (n <= CRI_STRING_MAX && i < n && (step = utf8_len(s + i, n - i)) != 0)
        i += step;
    if (i == n)
        return s;
    l->dropped++;
    return "";
}

/* The generated entries of all maps have the same members; this is what makes one function of them. */
struct entry {
    const char *key, *value;
};
#define ENTRIES(pairs_, list_, message_, field_)                                                \
    do {                                                                                        \
        for (size_t e_ = 0; e_ < (message_)->n_##field_; e_++) {                                \
            struct entry entry_ = {(message_)->field_[e_]->key, (message_)->field_[e_]->value}; \
            add_pair((list_), (pairs_), (message_)->n_##field_, entry_);                        \
        }                                                                                       \
    } while (0)

static void add_pair(struct cri_list *l, struct cri_pairs *p, size_t of, struct entry e)
{
    u64 before = l->dropped;
    if (!p->v && of)
        p->v = calloc(of < CRI_PAIRS_MAX ? of : CRI_PAIRS_MAX, sizeof(*p->v));
    if (!p->v || p->n == CRI_PAIRS_MAX || !e.key[0]) {
        l->dropped++;
        return;
    }
    struct cri_pair pair = {text(l, e.key), text(l, e.value)};
    if (l->dropped == before)
        p->v[p->n++] = pair;
}

static int add_sandbox(struct cri_list *l, const Cri__PodSandbox *s)
{
    struct cri_sandbox *out = VEC_PUSH(&l->sandboxes);
    if (!out)
        return -ENOMEM;
    *out = (struct cri_sandbox){
        .id = text(l, s->id), .name = "", .namespace_ = "", .uid = "", .ready = s->state == SANDBOX_READY};
    if (s->metadata) {
        out->name = text(l, s->metadata->name);
        out->namespace_ = text(l, s->metadata->namespace_);
        out->uid = text(l, s->metadata->uid);
    }
    ENTRIES(&out->labels, l, s, labels);
    ENTRIES(&out->annotations, l, s, annotations);
    return 0;
}

static int add_container(struct cri_list *l, const Cri__Container *c)
{
    struct cri_container *out = VEC_PUSH(&l->containers);
    if (!out)
        return -ENOMEM;
    *out = (struct cri_container){.id = text(l, c->id),
                                  .sandbox = text(l, c->pod_sandbox_id),
                                  .name = c->metadata ? text(l, c->metadata->name) : "",
                                  .image = "",
                                  .image_id = text(l, c->image_ref)};
    if (c->image)
        out->image = text(l, c->image->user_specified_image[0] ? c->image->user_specified_image : c->image->image);
    ENTRIES(&out->labels, l, c, labels);
    ENTRIES(&out->annotations, l, c, annotations);
    return 0;
}

/* How many of n records are taken; the rest is counted. */
static size_t bounded(struct cri_list *l, size_t n)
{
    if (n <= CRI_RECORDS_MAX)
        return n;
    l->dropped += n - CRI_RECORDS_MAX;
    return CRI_RECORDS_MAX;
}

int cri_list_sandboxes(struct cri_list *l, const void *bytes, size_t len)
{
    l->memory[0].left = CRI_MEMORY_MAX;
    ProtobufCAllocator a = allocator(&l->memory[0]);
    Cri__ListPodSandboxResponse *m = cri__list_pod_sandbox_response__unpack(&a, len, bytes);
    int rc = 0;
    if (!m)
        return -EBADMSG;
    l->owned[0] = m;
    for (size_t i = 0, n = bounded(l, m->n_items); !rc && i < n; i++)
        rc = add_sandbox(l, m->items[i]);
    return rc;
}

int cri_list_containers(struct cri_list *l, const void *bytes, size_t len)
{
    l->memory[1].left = CRI_MEMORY_MAX;
    ProtobufCAllocator a = allocator(&l->memory[1]);
    Cri__ListContainersResponse *m = cri__list_containers_response__unpack(&a, len, bytes);
    int rc = 0;
    if (!m)
        return -EBADMSG;
    l->owned[1] = m;
    for (size_t i = 0, n = bounded(l, m->n_containers); !rc && i < n; i++)
        rc = add_container(l, m->containers[i]);
    return rc;
}

void cri_list_free(struct cri_list *l)
{
    ProtobufCAllocator a = allocator(&l->memory[0]);
    for (size_t i = 0; i < l->sandboxes.n; i++) {
        free(l->sandboxes.v[i].labels.v);
        free(l->sandboxes.v[i].annotations.v);
    }
    for (size_t i = 0; i < l->containers.n; i++) {
        free(l->containers.v[i].labels.v);
        free(l->containers.v[i].annotations.v);
    }
    vec_free(&l->sandboxes);
    vec_free(&l->containers);
    if (l->owned[0])
        cri__list_pod_sandbox_response__free_unpacked(l->owned[0], &a);
    if (l->owned[1])
        cri__list_containers_response__free_unpacked(l->owned[1], &a);
    *l = (struct cri_list){0};
}

int cri_status_image(const void *bytes, size_t len, char image[], size_t size)
{
    struct cri_memory memory = {CRI_MEMORY_MAX};
    struct cri_list checks = {0};
    ProtobufCAllocator a = allocator(&memory);
    Cri__ContainerStatusResponse *m = cri__container_status_response__unpack(&a, len, bytes);
    if (!m)
        return -EBADMSG;
    snprintf(image, size, "%s", m->status && m->status->image ? text(&checks, m->status->image->image) : "");
    cri__container_status_response__free_unpacked(m, &a);
    return 0;
}

int cri_version_text(const void *bytes, size_t len, char out[], size_t size)
{
    struct cri_memory memory = {CRI_MEMORY_MAX};
    struct cri_list checks = {0};
    ProtobufCAllocator a = allocator(&memory);
    Cri__VersionResponse *m = cri__version_response__unpack(&a, len, bytes);
    if (!m)
        return -EBADMSG;
    snprintf(out, size, "%.60s %.60s", text(&checks, m->runtime_name), text(&checks, m->runtime_version));
    log_clean(out);
    cri__version_response__free_unpacked(m, &a);
    return 0;
}

const char *cri_pairs_get(const struct cri_pairs *p, const char *key)
{
    for (u32 i = 0; i < p->n; i++)
        if (!strcmp(p->v[i].key, key))
            return p->v[i].value;
    return NULL;
}
