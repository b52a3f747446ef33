/* The table: which cgroups there are, and whose. */
#include "container/containers.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "container/containers_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define DEFAULT_RESCAN_NS (60 * 1000000000ull)
#define DEFAULT_GRACE_NS  (60 * 1000000000ull)
#define UNSEEN_NS         2000000000ull /* without the tree, processes tell the rest: after so long they are looked through */
#define FIRST_ASK_NS      10000000ull /* the runtime lists a container before it makes its cgroup, mostly */

static size_t bucket_of(u64 cgroup)
{
    return hash_u64(cgroup) % BUCKETS;
}

/* What makes a group that one and no other: ids and uids do, wherever the path begins that we see of it. */
struct key {
    const char *s;
    size_t n;
};

static struct key key_of(const struct cgroup_name *n, const char *path)
{
    if (n->kind == CGROUP_UNIT)
        return (struct key){path, n->own};
    const char *s = n->kind == CGROUP_CONTAINER ? n->id : n->pod;
    return (struct key){s, strlen(s)};
}

static size_t key_bucket(struct key k)
{
    return hash_bytes(k.s, k.n, 0) % BUCKETS;
}

bool containers_is_same(const struct entry *e, const struct cgroup_name *n, const char *path)
{
    struct key its = key_of(&e->c.is, e->c.path), k = key_of(n, path);
    return e->c.is.kind == n->kind && its.n == k.n && !memcmp(its.s, k.s, k.n);
}

static struct node **find_node(const struct containers *c, u64 cgroup)
{
    struct node **at = (struct node **)&c->nodes[bucket_of(cgroup)];
    while (*at && (*at)->cgroup != cgroup)
        at = &(*at)->next;
    return at;
}

struct entry *containers_entry(const struct containers *c, u64 cgroup)
{
    const struct node *n = *find_node(c, cgroup);
    return n ? n->entry : NULL;
}

/* The living one of that name. */
struct entry *containers_named(const struct containers *c, const struct cgroup_name *n, const char *path)
{
    struct entry *e = c->names[key_bucket(key_of(n, path))];
    while (e && !containers_is_same(e, n, path))
        e = e->next_name;
    return e;
}

int containers_add_node(struct containers *c, u64 cgroup, struct entry *e)
{
    bool room = c->stats.cgroups < CONTAINERS_MAX && e->below <= CONTAINERS_BELOW_MAX;
    struct node *n = room ? malloc(sizeof(*n)) : NULL;
    if (!n) {
        c->stats.full++;
        return -ENOSPC;
    }
    struct node **at = &c->nodes[bucket_of(cgroup)];
    *n = (struct node){.cgroup = cgroup, .entry = e, .next = *at};
    *at = n;
    c->stats.cgroups++;
    e->below++; /* its own, which is the first one, included */
    return 0;
}

static void remove_node(struct containers *c, struct node **at)
{
    struct node *n = *at;
    *at = n->next;
    n->entry->below--;
    free(n);
    c->stats.cgroups--;
}

/* All cgroups of an entry. Few have others than their own: for those the whole table is looked through. */
static void remove_nodes_of(struct containers *c, const struct entry *e)
{
    struct node **own = find_node(c, e->c.cgroup);
    if (*own && (*own)->entry == e)
        remove_node(c, own);
    for (size_t i = 0; e->below && i < BUCKETS; i++)
        for (struct node **at = &c->nodes[i]; *at;)
            if ((*at)->entry == e)
                remove_node(c, at);
            else
                at = &(*at)->next;
}

static u64 *counter_of(struct containers *c, enum cgroup_kind kind)
{
    return kind == CGROUP_CONTAINER ? &c->stats.containers : kind == CGROUP_POD ? &c->stats.pods : &c->stats.units;
}

void containers_changed(struct containers *c, const struct entry *e)
{
    if (c->handlers.changed)
        c->handlers.changed(c->handlers.ctx, &e->c);
}

void containers_pend(struct containers *c, struct entry *e)
{
    struct entry **p = e->pending ? NULL : VEC_PUSH(&c->pending);
    if (p) {
        *p = e;
        e->pending = true;
    }
}

/* A new container, pod or unit whose own cgroup this is. */
struct entry *containers_add_entry(struct containers *c, u64 cgroup, const char *path, size_t len, u64 now)
{
    AUTO_FREE struct entry *e = calloc(1, sizeof(*e));
    if (!e || VEC_RESERVE(&c->all, c->all.n + 1) || container_init(&e->c, cgroup, path, len)) {
        c->stats.full++;
        return NULL;
    }
    if (containers_add_node(c, cgroup, e)) {
        container_free(&e->c);
        return NULL;
    }
    struct entry **at = &c->names[key_bucket(key_of(&e->c.is, e->c.path))];
    e->next_name = *at;
    *at = e;
    e->c.made_ns = now;
    e->scan = c->scan;
    if (e->c.is.kind == CGROUP_UNIT) {
        e->c.state = CONTAINER_KNOWN;
    } else {
        e->next_ask = now + FIRST_ASK_NS;
        e->next_init = e->c.is.kind == CGROUP_CONTAINER ? now : 0;
        containers_pend(c, e);
    }
    ++*counter_of(c, e->c.is.kind);
    e->at = c->all.n;
    c->all.v[c->all.n++] = e;
    containers_changed(c, e);
    return TAKE_PTR(e);
}

static void forget_name(struct containers *c, struct entry *e)
{
    struct entry **at = &c->names[key_bucket(key_of(&e->c.is, e->c.path))];
    while (*at && *at != e)
        at = &(*at)->next_name;
    if (*at)
        *at = e->next_name;
}

void containers_end(struct containers *c, struct entry *e, u64 now)
{
    u64 expiry = now + c->config.grace_ns;
    if (e->c.ended_ns)
        return;
    forget_name(c, e);
    e->c.ended_ns = now ? now : 1;
    e->c.state = CONTAINER_ENDED;
    e->next_init = 0;
    --*counter_of(c, e->c.is.kind);
    c->stats.ended++;
    if (!c->next_expiry || expiry < c->next_expiry)
        c->next_expiry = expiry;
    containers_changed(c, e);
}

static void unlist(struct containers *c, const struct entry *e)
{
    struct entry *last = c->all.v[--c->all.n];
    c->all.v[e->at] = last;
    last->at = e->at;
    for (size_t i = 0; e->pending && i < c->pending.n; i++)
        if (c->pending.v[i] == e) {
            c->pending.v[i] = c->pending.v[--c->pending.n];
            break;
        }
}

void containers_drop(struct containers *c, struct entry *e)
{
    if (e->c.ended_ns)
        c->stats.ended--;
    else {
        --*counter_of(c, e->c.is.kind);
        forget_name(c, e);
    }
    if (c->handlers.gone)
        c->handlers.gone(c->handlers.ctx, &e->c);
    remove_nodes_of(c, e);
    unlist(c, e);
    c->pair_bytes -= container_pair_bytes(&e->c);
    container_free(&e->c);
    free(e);
}

/* ---- What the agent reports ---- */

static bool is_ours(struct containers *c, u32 hierarchy)
{
    bool ours = hierarchy == c->config.hierarchy.number;
    c->stats.foreign += !ours;
    return ours;
}

void containers_cgroup_made(struct containers *c, u32 hierarchy, u64 cgroup, const char *path, u64 now)
{
    if (!is_ours(c, hierarchy))
        return;
    c->stats.made++;
    if (strlen(path) < CONTAINERS_PATH_MAX - 1) {
        containers_add(c, cgroup, path, now, false);
        if (!c->config.hierarchy.whole && c->next_scan > now + UNSEEN_NS)
            c->next_scan = now + UNSEEN_NS;
        return;
    }
    c->stats.cut++;
    c->next_scan = now; /* the tree has all of it */
}

void containers_cgroup_removed(struct containers *c, u32 hierarchy, u64 cgroup, u64 now)
{
    if (!is_ours(c, hierarchy))
        return;
    c->stats.removed++;
    struct node **at = find_node(c, cgroup);
    if (!*at)
        return;
    if ((*at)->entry->c.cgroup == cgroup)
        containers_end(c, (*at)->entry, now);
    else
        remove_node(c, at);
}

/* Since its sample the process may have moved to another group (runc's does, into its container), or its number may be
 * another's. Only when groups are out of sight, and its own namespace does not tell, its word is all there is. */
static bool is_id_of(const struct containers *c, u64 cgroup, u32 pid, const char *path)
{
    struct cgroup_name n;
    u64 id;
    if (hierarchy_id_of(&c->config.hierarchy, pid, path, &id))
        return !c->config.hierarchy.whole;
    cgroup_name_parse(&n, path, strlen(path));
    bool below = n.kind == CGROUP_CONTAINER && path[n.own]; /* a namespace begins at the container */
    return id == cgroup || (!c->config.hierarchy.whole && below);
}

const struct container *containers_learn(struct containers *c, u64 cgroup, u32 pid, u64 now)
{
    char path[4096];
    const struct entry *e = containers_entry(c, cgroup);
    if (!e && !hierarchy_path_of(&c->config.hierarchy, pid, path, sizeof(path)) && is_id_of(c, cgroup, pid, path))
        e = containers_add(c, cgroup, path, now, true);
    return e ? &e->c : NULL;
}

/* ---- What the agent asks ---- */

const struct container *containers_find(const struct containers *c, u64 cgroup)
{
    const struct entry *e = containers_entry(c, cgroup);
    return e ? &e->c : NULL;
}

void containers_all(const struct containers *c, bool (*each)(void *ctx, const struct container *one), void *ctx)
{
    for (size_t i = 0; i < c->all.n; i++)
        if (!each(ctx, &c->all.v[i]->c))
            return;
}

void containers_stats(const struct containers *c, struct containers_stats *out)
{
    *out = c->stats;
    out->unnamed = 0;
    for (size_t i = 0; i < c->all.n; i++)
        out->unnamed += c->all.v[i]->c.is.kind == CGROUP_CONTAINER && c->all.v[i]->c.state == CONTAINER_NEW;
    out->runtime = c->source.runtime ? c->source.runtime(c->source.ctx) : "";
    out->why = c->why;
}

const char *container_pair(const struct container_pairs *p, const char *key)
{
    for (u32 i = 0; i < p->n; i++)
        if (!strcmp(p->v[i].key, key))
            return p->v[i].value;
    return NULL;
}

/* ---- Life ---- */

static int fetch_cri(void *ctx, struct cri_list *out, char *why, size_t why_len)
{
    return cri_fetch(ctx, out, why, why_len);
}
static int image_cri(void *ctx, const char *id, char *image, size_t size)
{
    return cri_image(ctx, id, image, size);
}
static const char *runtime_cri(void *ctx)
{
    return cri_about(ctx)->runtime;
}

static int make_source(struct containers *c, const struct containers_config *config)
{
    struct cri_config cri = {.root_fd = c->root_fd,
                             .socket = config->cri_socket,
                             .timeout_ms = config->cri_timeout_ms,
                             .stop = config->stop};
    if (config->source) {
        c->source = *config->source;
        return 0;
    }
    if (config->cri_socket && !strcmp(config->cri_socket, "none"))
        return 0;
    int rc = cri_new(&c->cri, &cri);
    c->source = (struct container_source){c->cri, fetch_cri, image_cri, runtime_cri};
    return rc;
}

int containers_new(struct containers **out, const struct containers_config *config,
                   const struct containers_handlers *handlers)
{
    CLEANUP(containers_free) struct containers *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->config = *config;
    c->handlers = *handlers;
    c->root_fd = open(config->host_root ? config->host_root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (c->root_fd < 0)
        return -errno;
    if (!c->config.rescan_ns)
        c->config.rescan_ns = DEFAULT_RESCAN_NS;
    if (!c->config.grace_ns)
        c->config.grace_ns = DEFAULT_GRACE_NS;
    int rc = make_source(c, config);
    if (rc)
        return rc;
    *out = TAKE_PTR(c);
    return 0;
}

void containers_free(struct containers **at)
{
    struct containers *c = *at;
    if (!c)
        return;
    c->handlers = (struct containers_handlers){0};
    while (c->all.n)
        containers_drop(c, c->all.v[c->all.n - 1]);
    vec_free(&c->all);
    vec_free(&c->pending);
    cri_free(&c->cri);
    if (c->root_fd >= 0)
        close(c->root_fd);
    free(TAKE_PTR(*at));
}
