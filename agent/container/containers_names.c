/* Names: what the runtime's lists and state files say, copied into the records with bounds. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "container/containers_internal.h"
#include "container/state_files.h"
#include <errno.h>
#include <string.h>

#define NEXT_ASK_NS     50000000ull /* doubled after each list that has not got it */
#define LONGEST_ASK_NS  5000000000ull
#define TRIES           12           /* lists that have not got it, about half a minute: then it is given up */
#define FILE_TRY        3            /* after so many, or failed calls, the state files are looked at */
#define FIRST_BACKOFF   250000000ull /* after a failed call; doubled */
#define LONGEST_BACKOFF 30000000000ull
#define REST            20           /* times as long as a list took: a large node's lists cost at most 5 % */
#define LONGEST_REST    500000000ull /* but a machine that is busy makes everything look slow */
#define IMAGES_A_LIST   16           /* details asked for, one call each */

static char *copy(const char *s)
{
    return strdup(s ? s : "");
}

int container_init(struct container *c, u64 cgroup, const char *path, size_t len)
{
    *c = (struct container){.cgroup = cgroup, .path = strndup(path, len)};
    c->name = copy("");
    c->image = copy("");
    c->image_id = copy("");
    c->pod = copy("");
    c->namespace_ = copy("");
    if (!c->path || !c->name || !c->image || !c->image_id || !c->pod || !c->namespace_) {
        container_free(c);
        return -ENOMEM;
    }
    cgroup_name_parse(&c->is, c->path, len);
    return 0;
}

static size_t pairs_bytes(const struct container_pairs *p)
{
    size_t n = 0;
    for (u32 i = 0; i < p->n; i++)
        n += strlen(p->v[i].key) + strlen(p->v[i].value) + 2 + sizeof(p->v[i]);
    return n;
}

size_t container_pair_bytes(const struct container *c)
{
    return pairs_bytes(&c->labels) + pairs_bytes(&c->pod_labels) + pairs_bytes(&c->pod_annotations);
}

static void pairs_free(struct container_pairs *p)
{
    for (u32 i = 0; i < p->n; i++)
        free(p->v[i].key);
    free(p->v);
    *p = (struct container_pairs){0};
}

void container_free(struct container *c)
{
    free(c->path);
    free(c->name);
    free(c->image);
    free(c->image_id);
    free(c->pod);
    free(c->namespace_);
    pairs_free(&c->labels);
    pairs_free(&c->pod_labels);
    pairs_free(&c->pod_annotations);
    *c = (struct container){0};
}

/* The old text stays when there is no memory for the new one. */
static void set(char **field, const char *s)
{
    char *text = s && s[0] ? strdup(s) : NULL;
    if (text) {
        free(*field);
        *field = text;
    }
}

/* Bytes of a value that are kept: whole characters. Whoever reads one that was cut finds it too long. */
static size_t value_len(const char *value)
{
    size_t n = strnlen(value, CONTAINERS_VALUE_MAX + 1);
    if (n <= CONTAINERS_VALUE_MAX)
        return n;
    for (n = CONTAINERS_VALUE_MAX; n && ((unsigned char)value[n] & 0xc0) == 0x80;)
        n--;
    return n;
}

/* Key and value in one allocation. */
static int copy_pair(struct container_pair *out, const struct cri_pair *p)
{
    size_t k = strlen(p->key) + 1, v = value_len(p->value);
    out->key = malloc(k + v + 1);
    if (!out->key)
        return -ENOMEM;
    memcpy(out->key, p->key, k);
    out->value = memcpy(out->key + k, p->value, v);
    out->value[v] = 0;
    return 0;
}

static void copy_pairs(struct containers *c, struct container *of, struct container_pairs *out,
                       const struct cri_pairs *in)
{
    struct container_pairs p = {.v = in->n ? calloc(in->n, sizeof(*p.v)) : NULL};
    c->pair_bytes -= pairs_bytes(out);
    size_t left = CONTAINERS_BYTES_MAX > c->pair_bytes ? CONTAINERS_BYTES_MAX - c->pair_bytes : 0;
    bool scarce = left < CONTAINERS_PAIRS_BYTES;
    left = scarce ? left : CONTAINERS_PAIRS_BYTES;
    for (u32 i = 0; i < in->n; i++) {
        size_t n = strlen(in->v[i].key) + value_len(in->v[i].value) + 2 + sizeof(p.v[i]);
        if (p.v && n <= left && !copy_pair(&p.v[p.n], &in->v[i])) {
            left -= n;
            p.n++;
        } else {
            c->stats.fields_dropped++;
            of->starved |= scarce;
        }
    }
    c->pair_bytes += pairs_bytes(&p);
    pairs_free(out);
    *out = p;
}

/* What a list is asked for: by id or uid, through hashes. */
struct index {
    const struct cri_list *list;
    struct map containers, sandboxes, pods; /* hash -> position + 1 */
};

static u64 text_hash(const char *s)
{
    return hash_bytes(s, strlen(s), 0);
}

static void put(struct map *m, const char *key, size_t i)
{
    u64 *at = key[0] ? map_put(m, text_hash(key)) : NULL;
    if (at)
        *at = i + 1;
}

static void index_free(struct index *x)
{
    map_free(&x->containers);
    map_free(&x->sandboxes);
    map_free(&x->pods);
}

static void index_make(struct index *x, const struct cri_list *list)
{
    x->list = list;
    for (size_t i = 0; i < list->containers.n; i++)
        put(&x->containers, list->containers.v[i].id, i);
    for (size_t i = 0; i < list->sandboxes.n; i++) {
        put(&x->sandboxes, list->sandboxes.v[i].id, i);
        if (list->sandboxes.v[i].ready || !map_get(&x->pods, text_hash(list->sandboxes.v[i].uid)))
            put(&x->pods, list->sandboxes.v[i].uid, i);
    }
}

static const struct cri_sandbox *sandbox_at(const struct index *x, const struct map *m, const char *key)
{
    const u64 *at = map_get(m, text_hash(key));
    return at ? &x->list->sandboxes.v[*at - 1] : NULL;
}

static const struct cri_container *container_at(const struct index *x, const char *id)
{
    const u64 *at = map_get(&x->containers, text_hash(id));
    const struct cri_container *found = at ? &x->list->containers.v[*at - 1] : NULL;
    return found && !strcmp(found->id, id) ? found : NULL;
}

static void take_sandbox(struct containers *c, struct container *out, const struct cri_sandbox *s)
{
    set(&out->pod, s->name);
    set(&out->namespace_, s->namespace_);
    if (!out->is.pod[0] && strlen(s->uid) <= POD_UID_MAX)
        memcpy(out->is.pod, s->uid, strlen(s->uid) + 1);
    copy_pairs(c, out, &out->pod_labels, &s->labels);
    copy_pairs(c, out, &out->pod_annotations, &s->annotations);
}

/* The kubelet starts containers by the digest of their image: the name that the user wrote is a detail. */
static void take_image(struct containers *c, struct container *out, const struct cri_container *in, unsigned *images)
{
    char image[512];
    set(&out->image, in->image);
    set(&out->image_id, in->image_id[0] ? in->image_id : in->image);
    if (strncmp(in->image, "sha256:", 7) != 0 || !c->source.image || !*images)
        return;
    --*images;
    if (!c->source.image(c->source.ctx, in->id, image, sizeof(image)))
        set(&out->image, image);
    else
        *images = 0; /* each may take the time of a whole call: one failure is enough */
}

static void take_container(struct containers *c, struct container *out, const struct cri_container *in,
                           const struct index *x, unsigned *images)
{
    const struct cri_sandbox *s = sandbox_at(x, &x->sandboxes, in->sandbox);
    const char *name = cri_pairs_get(&in->labels, "io.kubernetes.container.name");
    set(&out->name, name && name[0] ? name : in->name);
    set(&out->pod, cri_pairs_get(&in->labels, "io.kubernetes.pod.name"));
    set(&out->namespace_, cri_pairs_get(&in->labels, "io.kubernetes.pod.namespace"));
    copy_pairs(c, out, &out->labels, &in->labels);
    take_image(c, out, in, images);
    if (s)
        take_sandbox(c, out, s);
}

static void take_runtime(const struct containers *c, struct container *out)
{
    const char *is = c->source.runtime ? c->source.runtime(c->source.ctx) : "";
    if (out->is.runtime == RUNTIME_UNKNOWN)
        out->is.runtime = !strncmp(is, "containerd", 10) ? RUNTIME_CONTAINERD
                          : !strncmp(is, "cri-o", 5)     ? RUNTIME_CRIO
                          : !strncmp(is, "docker", 6)    ? RUNTIME_DOCKER
                                                         : RUNTIME_UNKNOWN;
}

/* True when the list has it. */
static bool take_listed(struct containers *c, struct container *out, const struct index *x, unsigned *images)
{
    const struct cri_sandbox *s;
    const struct cri_container *in;
    if (out->is.kind == CGROUP_POD) {
        s = sandbox_at(x, &x->pods, out->is.pod);
        if (s)
            take_sandbox(c, out, s);
        return s;
    }
    s = sandbox_at(x, &x->sandboxes, out->is.id);
    if (s && !strcmp(s->id, out->is.id)) {
        out->sandbox = true;
        take_sandbox(c, out, s);
        return true;
    }
    in = container_at(x, out->is.id);
    if (in)
        take_container(c, out, in, x, images);
    return in;
}

static void named(struct containers *c, struct entry *e, enum container_told by)
{
    e->c.told = by;
    if (e->c.state == CONTAINER_NEW)
        e->c.state = CONTAINER_KNOWN;
    containers_changed(c, e);
}

static void ask_files(struct containers *c, struct entry *e)
{
    struct state_file f;
    if (e->c.is.kind != CGROUP_CONTAINER || e->c.told != TOLD_NOTHING ||
        state_file_find(&f, c->root_fd, e->c.is.id, e->c.is.runtime))
        return;
    e->c.is.runtime = f.runtime;
    e->c.sandbox = f.sandbox;
    set(&e->c.name, f.name);
    set(&e->c.image, f.image);
    set(&e->c.image_id, f.image_id);
    set(&e->c.pod, f.pod);
    set(&e->c.namespace_, f.namespace_);
    if (!e->c.is.pod[0] && strlen(f.uid) <= POD_UID_MAX)
        memcpy(e->c.is.pod, f.uid, strlen(f.uid) + 1);
    c->stats.by_file++;
    named(c, e, TOLD_BY_FILE);
}

/* It is asked about again, ever more seldom, and in the end no more (but a re-scan asks). */
static void not_found(struct containers *c, struct entry *e, u64 now)
{
    u64 wait = NEXT_ASK_NS << (e->tries < 10 ? e->tries : 10);
    e->next_ask = now + (wait < LONGEST_ASK_NS ? wait : LONGEST_ASK_NS);
    if (++e->tries < TRIES)
        return;
    e->next_ask = 0;
    c->stats.given_up += e->tries == TRIES && e->c.told == TOLD_NOTHING && e->c.is.kind == CGROUP_CONTAINER;
}

/* A list has not got it: the runtime is late, or it is another runtime's. */
static void not_listed(struct containers *c, struct entry *e, u64 now)
{
    if (e->tries >= FILE_TRY || e->c.is.runtime == RUNTIME_DOCKER || e->c.is.runtime == RUNTIME_PODMAN)
        ask_files(c, e);
    not_found(c, e, now);
}

static bool wants_names(const struct entry *e)
{
    return e->c.told != TOLD_BY_RUNTIME && (e->c.is.kind == CGROUP_CONTAINER || e->c.is.kind == CGROUP_POD);
}

static void apply(struct containers *c, const struct cri_list *list, u64 now)
{
    CLEANUP(index_free) struct index x = {0};
    unsigned images = IMAGES_A_LIST;
    index_make(&x, list);
    c->stats.fields_dropped += list->dropped;
    for (size_t i = 0; i < c->all.n; i++) {
        struct entry *e = c->all.v[i];
        if (!wants_names(e))
            continue;
        if (!take_listed(c, &e->c, &x, &images)) {
            if (e->next_ask && e->next_ask <= now)
                not_listed(c, e, now);
            continue;
        }
        take_runtime(c, &e->c);
        e->next_ask = 0;
        named(c, e, TOLD_BY_RUNTIME);
    }
}

static void count_error(struct containers_stats *s, int rc)
{
    u64 *counter = rc == -ETIMEDOUT                                            ? &s->timeouts
                   : rc == -ENOENT || rc == -ECONNREFUSED || rc == -ECONNRESET ? &s->unreachable
                   : rc == -ENOTSUP                                            ? &s->unsupported
                   : rc == -EBADMSG || rc == -EPROTO || rc == -EMSGSIZE        ? &s->malformed
                                                                               : &s->failed;
    ++*counter;
}

/* Files may name some when there is nobody to ask, or nobody answers. The latter are asked about again. */
static void without_runtime(struct containers *c, u64 now)
{
    for (size_t i = 0; i < c->all.n; i++) {
        struct entry *e = c->all.v[i];
        if (!wants_names(e) || !e->next_ask || e->next_ask > now)
            continue;
        ask_files(c, e);
        if (!c->source.fetch)
            not_found(c, e, now);
    }
}

static void fetch(struct containers *c, u64 now)
{
    CLEANUP(cri_list_free) struct cri_list list = {0};
    u64 begun = now_ns();
    int rc = c->source.fetch(c->source.ctx, &list, c->why, sizeof(c->why));
    if (rc) {
        count_error(&c->stats, rc);
        c->fetch_backoff = c->fetch_backoff ? 2 * c->fetch_backoff : FIRST_BACKOFF;
        if (c->fetch_backoff > LONGEST_BACKOFF)
            c->fetch_backoff = LONGEST_BACKOFF;
        c->next_fetch = now + c->fetch_backoff;
        without_runtime(c, now);
        return;
    }
    c->stats.answered++;
    c->why[0] = 0;
    c->fetch_backoff = 0;
    u64 rest = REST * (now_ns() - begun);
    c->next_fetch = now + (rest < LONGEST_REST ? rest : LONGEST_REST);
    c->stats.last_ok_ns = now;
    apply(c, &list, now);
}

void containers_ask(struct containers *c, u64 now, bool everybody)
{
    bool due = false;
    for (size_t i = 0; i < c->all.n; i++) {
        struct entry *e = c->all.v[i];
        if (!wants_names(e))
            continue;
        if (everybody && !e->next_ask) {
            e->next_ask = now;
            containers_pend(c, e);
        }
        due |= e->next_ask && e->next_ask <= now;
    }
    if (!c->source.fetch)
        without_runtime(c, now);
    else if ((due || everybody) && now >= c->next_fetch)
        fetch(c, now);
}
