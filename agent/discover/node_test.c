#include "discover/node_test.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct policy_type types[] = {{"cpu", true, true, NULL, true}, {"page-faults", true, true, NULL, true}};

static struct { /* the kernel side; by cgroup, below GROUPS */
    pthread_mutex_t lock;
    u64 want[GROUPS];
    unsigned hz;
    int refuse; /* so many wants */
} kernel = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set(u64 cgroup, u64 want)
{
    pthread_mutex_lock(&kernel.lock);
    if (cgroup < GROUPS)
        kernel.want[cgroup] = want;
    pthread_mutex_unlock(&kernel.lock);
}

static int on_want(void *ctx, u64 cgroup, u64 want)
{
    pthread_mutex_lock(&kernel.lock);
    bool refused = kernel.refuse > 0 && kernel.refuse--;
    pthread_mutex_unlock(&kernel.lock);
    if (refused)
        return -ENOSPC;
    set(cgroup, want);
    return 0;
}

static void on_unwant(void *ctx, u64 cgroup)
{
    set(cgroup, NO_WANT);
}

static void on_rate(void *ctx, unsigned hz)
{
    pthread_mutex_lock(&kernel.lock);
    kernel.hz = hz;
    pthread_mutex_unlock(&kernel.lock);
}

u64 kernel_want(u64 cgroup)
{
    pthread_mutex_lock(&kernel.lock);
    u64 want = kernel.want[cgroup];
    pthread_mutex_unlock(&kernel.lock);
    return want;
}

u32 kernel_events(u64 cgroup)
{
    u64 want = kernel_want(cgroup);
    return want == NO_WANT ? NO_WANT : XP_WANT_EVENTS(want);
}

unsigned kernel_rate(void)
{
    pthread_mutex_lock(&kernel.lock);
    unsigned hz = kernel.hz;
    pthread_mutex_unlock(&kernel.lock);
    return hz;
}

void kernel_refuse(int wants)
{
    pthread_mutex_lock(&kernel.lock);
    kernel.refuse = wants;
    pthread_mutex_unlock(&kernel.lock);
}

/* ---- A runtime: one pod with one container ---- */

static int add_sandbox(struct cri_list *out, const char *id)
{
    struct cri_sandbox *s = VEC_PUSH(&out->sandboxes);
    if (!s)
        return -ENOMEM;
    *s = (struct cri_sandbox){.id = id, .name = "web-0", .namespace_ = "prod", .uid = UID, .ready = true};
    s->annotations.v = calloc(2, sizeof(*s->annotations.v));
    s->annotations.v[s->annotations.n++] = (struct cri_pair){"xprof.io/profile", "cpu"};
    s->annotations.v[s->annotations.n++] = (struct cri_pair){"io.kubernetes.x", "y"};
    return 0;
}

static int fetch(void *ctx, struct cri_list *out, char *why, size_t why_len)
{
    const struct node *n = ctx;
    struct cri_container *c = VEC_PUSH(&out->containers);
    if (!c || add_sandbox(out, C2) || (n->two_sandboxes && add_sandbox(out, C3)))
        return -ENOMEM;
    *c = (struct cri_container){.id = C1, .sandbox = C2, .name = "main", .image = "web:1", .image_id = "sha256:aa"};
    return 0;
}

static int fetch_image(void *ctx, const char *id, char *image, size_t size)
{
    snprintf(image, size, "web:1");
    return 0;
}

static const char *runtime_text(void *ctx)
{
    return "fake 1.0";
}

/* ---- A discovery ---- */

static void release(void *released)
{
    __atomic_add_fetch((int *)released, 1, __ATOMIC_RELAXED);
}

struct discover_rules node_rules(struct node *n, enum policy_targeting targeting, unsigned rate)
{
    return (struct discover_rules){
        .policy = {.targeting = targeting, .rate_min = 1, .rate_max = 500, .types = types, .ntypes = 2},
        .rate = rate,
        .events = 3,
        .everything = targeting == POLICY_ALL,
        .host_processes = targeting == POLICY_ALL,
        .owner = &n->released,
        .release = release,
    };
}

void node_free(struct node *n)
{
    discover_free(&n->d);
    publisher_free(&n->publisher);
}

int node_new(struct node *n, enum discover_kube source, enum policy_targeting targeting)
{
    char why[256];
    struct publisher_config pc = {0};
    for (size_t i = 0; i < GROUPS; i++)
        set(i, NO_WANT);
    on_rate(NULL, 0);
    kernel_refuse(0);
    if (!n->hierarchy.mount[0])
        snprintf(n->hierarchy.mount, sizeof(n->hierarchy.mount), "/nowhere");
    n->source = (struct container_source){.ctx = n, .fetch = fetch, .image = fetch_image, .runtime = runtime_text};
    struct discover_rules rules = node_rules(n, targeting, 50);
    int rc = publisher_new(&n->publisher, &pc);
    struct discover_config c = {
        .sampler = {.want = on_want, .unwant = on_unwant, .set_rate = on_rate},
        .publisher = n->publisher,
        .hierarchy = &n->hierarchy,
        .containers = {.hierarchy = n->hierarchy, .grace_ns = 1},
        .source = source == DISCOVER_BY_CRI ? source : DISCOVER_NO_KUBE,
    };
    if (source == DISCOVER_BY_CRI)
        c.containers.source = &n->source;
    else
        c.containers.cri_socket = "none";
    rc = rc ? rc : discover_new(&n->d, &c, &rules, why, sizeof(why));
    if (!rc)
        n->d->config.source = n->d->inventory.source = source;
    return rc;
}

int node_start(struct node *n)
{
    char why[256];
    return discover_start(n->d, why, sizeof(why));
}

void node_reload(struct node *n, struct discover_rules rules)
{
    struct discover_rules *next = malloc(sizeof(*next));
    *next = rules;
    discover_reload(n->d, &next);
}

struct discover_stats node_stats(struct node *n)
{
    struct discover_stats s;
    if (discover_stats(n->d, &s, 10000))
        test_fail(__FILE__, __LINE__, "no answer");
    return s;
}

void node_group(struct node *n, u64 id, const char *path, bool made)
{
    struct xp_cgroup_event e = {.type = XP_RECORD_CGROUP, .made = made, .id = id};
    snprintf(e.path, sizeof(e.path), "%s", path);
    discover_cgroup(n->d, &e);
}

bool node_says(struct node *n, const char *text)
{
    AUTO_BUF struct buf json = {0};
    if (discover_targets(n->d, &json, 10000))
        return false;
    buf_char(&json, 0);
    return strstr(json.data, text) != NULL;
}
