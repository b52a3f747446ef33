/* The discovery's thread, with a runtime, a kernel side and a Kubernetes that the test plays: what arrives in the
 * mailbox, and what is wanted then. A question to the thread is answered behind everything that was said before it.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "discover/discover_internal.h"
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#define UID "11111111-2222-3333-4444-555555555555"
#define POD "/kubepods/burstable/pod" UID
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define C1  HEX "0001"
#define C2  HEX "0002"

enum { GROUPS = 32, NO_WANT = 0xffffffff };
static const struct policy_type types[] = {{"cpu", true, true}, {"page-faults", true, true}};

static struct { /* the kernel side; by cgroup, below GROUPS */
    pthread_mutex_t lock;
    u32 want[GROUPS];
    unsigned hz;
} kernel = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set(u64 cgroup, u32 want)
{
    pthread_mutex_lock(&kernel.lock);
    if (cgroup < GROUPS)
        kernel.want[cgroup] = want;
    pthread_mutex_unlock(&kernel.lock);
}

static int on_want(void *ctx, u64 cgroup, u32 want)
{
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

static u32 want_of(u64 cgroup)
{
    pthread_mutex_lock(&kernel.lock);
    u32 want = kernel.want[cgroup];
    pthread_mutex_unlock(&kernel.lock);
    return want;
}

static u32 events_of(u64 cgroup)
{
    u32 want = want_of(cgroup);
    return want == NO_WANT ? NO_WANT : XP_WANT_EVENTS(want);
}

/* ---- A runtime: one pod with one container ---- */

static int fetch(void *ctx, struct cri_list *out, char *why, size_t why_len)
{
    struct cri_sandbox *s = VEC_PUSH(&out->sandboxes);
    struct cri_container *c = VEC_PUSH(&out->containers);
    if (!s || !c)
        return -ENOMEM;
    *s = (struct cri_sandbox){.id = C2, .name = "web-0", .namespace_ = "prod", .uid = UID, .ready = true};
    *c = (struct cri_container){.id = C1, .sandbox = C2, .name = "main", .image = "web:1", .image_id = "sha256:aa"};
    s->annotations.v = calloc(2, sizeof(*s->annotations.v));
    s->annotations.v[s->annotations.n++] = (struct cri_pair){"xprof.io/profile", "cpu"};
    s->annotations.v[s->annotations.n++] = (struct cri_pair){"io.kubernetes.x", "y"};
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

struct node {
    struct hierarchy hierarchy;
    struct container_source source;
    struct publisher *publisher;
    struct discover *d;
    int released;
};

static void release(void *released)
{
    __atomic_add_fetch((int *)released, 1, __ATOMIC_RELAXED);
}

static struct discover_rules rules_of(struct node *n, enum policy_targeting targeting, unsigned rate)
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

static void node_free(struct node *n)
{
    discover_free(&n->d);
    publisher_free(&n->publisher);
}
#define AUTO_NODE CLEANUP(node_free) struct node

/* Not started yet. `source`: Kubernetes without its threads is played by the test. */
static int node_new(struct node *n, enum discover_kube source, enum policy_targeting targeting)
{
    char why[256];
    struct publisher_config pc = {0};
    for (size_t i = 0; i < GROUPS; i++)
        set(i, NO_WANT);
    on_rate(NULL, 0);
    snprintf(n->hierarchy.mount, sizeof(n->hierarchy.mount), "/nowhere");
    n->source = (struct container_source){.fetch = fetch, .image = fetch_image, .runtime = runtime_text};
    struct discover_rules rules = rules_of(n, targeting, 50);
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

static int start(struct node *n)
{
    char why[256];
    return discover_start(n->d, why, sizeof(why));
}

static struct discover_stats stats(struct node *n)
{
    struct discover_stats s;
    if (discover_stats(n->d, &s, 10000))
        test_fail(__FILE__, __LINE__, "no answer");
    return s;
}

static void group(struct node *n, u64 id, const char *path, bool made)
{
    struct xp_cgroup_event e = {.type = XP_RECORD_CGROUP, .made = made, .id = id};
    snprintf(e.path, sizeof(e.path), "%s", path);
    discover_cgroup(n->d, &e);
}

static bool says(struct node *n, const char *text)
{
    AUTO_BUF struct buf json = {0};
    if (discover_targets(n->d, &json, 10000))
        return false;
    buf_char(&json, 0);
    return strstr(json.data, text) != NULL;
}

#define WAIT(n, condition)                                                            \
    for (u64 until_ = now_ns() + 10 * NS_PER_SEC; !(condition) && now_ns() < until_;) \
    usleep(2000)

TEST(discover_wants_all_containers)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_NO_KUBE, POLICY_ALL), 0);
    CHECK_EQ(start(&n), 0);
    group(&n, 5, "/docker/" C1, true);
    group(&n, 6, "/system.slice/ssh.service", true);
    group(&n, 7, "/user.slice/x", true);
    CHECK(says(&n, "\"kind\":\"container\",\"path\":\"/docker/" C1 "\",\"id\":\"" C1 "\",\"runtime\":"));
    CHECK(says(&n, "\"reason\":\"all containers are profiled\",\"profiled\":true,\"cgroup\":5,\"labels\":{\""));
    CHECK(says(&n, "\"kind\":\"unit\",\"path\":\"/system.slice/ssh.service\",\"reason\":\"processes of the host are "));
    CHECK(says(&n, "\"unit\":\"ssh.service\""));
    CHECK(!says(&n, "user.slice"));
    CHECK_EQ(events_of(5), 3);
    CHECK_EQ(events_of(6), 3);
    CHECK_EQ(want_of(7), NO_WANT); /* it inherits the root's */
    CHECK_EQ(events_of(INVENTORY_ROOT), 3);
    struct discover_stats s = stats(&n);
    CHECK_EQ(s.pods, 0);
    CHECK(s.synced && !s.by_runtime);
    CHECK_EQ(s.containers.containers, 1);
    group(&n, 5, "/docker/" C1, false);
    WAIT(&n, want_of(5) == NO_WANT);
    CHECK_EQ(want_of(5), NO_WANT);
    CHECK(!says(&n, C1));
}

TEST(discover_takes_pods_from_the_runtime)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_BY_CRI, POLICY_ANNOTATION), 0);
    CHECK_EQ(start(&n), 0);
    group(&n, 4, "/kubepods", true);
    group(&n, 5, POD, true);
    group(&n, 6, POD "/" C2, true);
    group(&n, 7, POD "/" C1, true);
    WAIT(&n, stats(&n).wanted == 1 && says(&n, "\"container\":\"main\""));
    struct discover_stats s = stats(&n);
    CHECK_EQ(s.pods, 1);
    CHECK_EQ(s.wanted, 1);
    CHECK(s.by_runtime && s.synced);
    CHECK_STR(s.runtime, "fake 1.0");
    CHECK_STR(s.runtime_why, "");
    CHECK_EQ(events_of(4), 0); /* nothing there, until its pod says so */
    CHECK_EQ(events_of(5), 1);
    CHECK_EQ(events_of(6), 0); /* the pause container */
    CHECK_EQ(want_of(7), NO_WANT);
    CHECK(says(&n, "\"pod_uid\":\"" UID "\""));
    CHECK(says(&n, "\"pod\":\"web-0\""));
    group(&n, 6, POD "/" C2, false);
    WAIT(&n, stats(&n).pods == 0);
    CHECK_EQ(stats(&n).pods, 0);
}

static struct kube_pod *pod_of(const char *uid, const char *name, const char *profile, const char *rate)
{
    struct kube_pod *p = NULL;
    if (kube_pod_new(&p, uid, "shop", name))
        return NULL;
    kube_pairs_add(&p->annotations, "xprof.io/profile", profile);
    if (rate)
        kube_pairs_add(&p->annotations, "xprof.io/rate", rate);
    return p;
}

TEST(discover_follows_pods_as_they_come_and_go)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_BY_KUBE, POLICY_ANNOTATION), 0);
    CHECK_EQ(start(&n), 0);
    struct kube_handlers h = mailbox_handlers(n.d);
    group(&n, 5, POD, true);
    stats(&n);
    CHECK_EQ(events_of(5), 0); /* nobody knows it yet */
    CHECK(says(&n, "\"kind\":\"pod\""));
    h.pod(h.ctx, pod_of(UID, "web", "true", NULL));
    CHECK_EQ(stats(&n).pods, 1);
    CHECK_EQ(events_of(5), 3);
    CHECK_EQ(XP_WANT_EVERY(want_of(5)), 1);
    h.pod(h.ctx, pod_of("u2", "fast", "true", "200")); /* the others get a share of the higher rate */
    CHECK_EQ(stats(&n).wanted, 2);
    CHECK_EQ(kernel.hz, 200);
    CHECK_EQ(XP_WANT_EVERY(want_of(5)), 4);
    h.pod_gone(h.ctx, "u2");
    h.pod_gone(h.ctx, "nobody");
    CHECK_EQ(stats(&n).pods, 1);
    CHECK_EQ(kernel.hz, 50);
    CHECK_EQ(XP_WANT_EVERY(want_of(5)), 1);
    CHECK_EQ(stats(&n).warnings, 0);
    h.pod(h.ctx, pod_of(UID, "web", "nonsense", NULL));
    CHECK_EQ(stats(&n).warnings, 1);
    CHECK_EQ(events_of(5), 0);
    h.pod(h.ctx, pod_of(UID, "web", "nonsense", NULL)); /* that is no news */
    CHECK_EQ(stats(&n).warnings, 1);
    h.pod(h.ctx, pod_of(UID, "web", "cpu", NULL));
    stats(&n);
    CHECK_EQ(events_of(5), 1);
    struct kube_pod *mirror = pod_of("u3", "static", "true", NULL); /* two pods say whose cgroup it is, and one goes */
    CHECK_EQ(kube_pod_set(&mirror->runtime_uid, "hash"), 0);
    group(&n, 8, "/kubepods/podhash", true);
    h.pod(h.ctx, mirror);
    h.pod_gone(h.ctx, UID);
    CHECK_EQ(stats(&n).wanted, 1);
    CHECK_EQ(events_of(5), 0);
}

static struct kube_namespace *namespace_of(const char *name, const char *profile)
{
    struct kube_namespace *ns = calloc(1, sizeof(*ns));
    ns->name = strdup(name);
    ns->resource_version = strdup("1");
    kube_pairs_add(&ns->annotations, "xprof.io/profile", profile);
    return ns;
}

TEST(discover_waits_for_namespaces_that_may_opt_out)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_BY_KUBE, POLICY_ALL), 0);
    CHECK_EQ(start(&n), 0);
    struct kube_handlers h = mailbox_handlers(n.d);
    struct kube_pod *p = NULL;
    CHECK_EQ(kube_pod_new(&p, UID, "shop", "web"), 0);
    group(&n, 5, POD, true);
    h.pod(h.ctx, p);
    CHECK_EQ(stats(&n).pods, 1);
    CHECK_EQ(events_of(5), 0);
    h.ns(h.ctx, namespace_of("shop", "cpu"));
    CHECK_EQ(stats(&n).namespaces, 1);
    CHECK_EQ(events_of(5), 1);
    h.ns(h.ctx, namespace_of("shop", "false"));
    CHECK_EQ(stats(&n).namespaces, 1);
    CHECK_EQ(events_of(5), 0);
    h.ns_gone(h.ctx, "shop");
    CHECK_EQ(stats(&n).namespaces, 0);
    CHECK_EQ(events_of(5), 0); /* not known is no consent */
    mailbox_no_namespaces(n.d);
    stats(&n);
    CHECK_EQ(events_of(5), 3); /* they cannot be had */
    h.synced(h.ctx, true);
    stats(&n);
    CHECK_EQ(events_of(5), 0); /* they can */
}

TEST(discover_puts_new_rules_in_force)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_NO_KUBE, POLICY_ALL), 0);
    CHECK_EQ(start(&n), 0);
    group(&n, 5, "/docker/" C1, true);
    stats(&n);
    CHECK_EQ(events_of(5), 3);
    struct discover_rules *next = malloc(sizeof(*next));
    *next = rules_of(&n, POLICY_ANNOTATION, 99);
    discover_reload(n.d, &next);
    CHECK(!next);
    stats(&n);
    CHECK_EQ(events_of(5), 0);
    CHECK_EQ(kernel.hz, 99);
    CHECK_EQ(__atomic_load_n(&n.released, __ATOMIC_RELAXED), 1);
    next = malloc(sizeof(*next));
    *next = rules_of(&n, POLICY_ALL, 99);
    discover_reload(n.d, &next);
    stats(&n);
    CHECK_EQ(events_of(5), 3);
    discover_free(&n.d);
    CHECK_EQ(n.released, 3);
}

TEST(discover_leaves_strangers_to_the_host)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_NO_KUBE, POLICY_ALL), 0);
    n.hierarchy.whole = true;
    CHECK_EQ(start(&n), 0);
    discover_stranger(n.d, 9, (u32)getpid());
    stats(&n);
    CHECK_EQ(want_of(9), NO_WANT); /* the host's: it inherits */
    CHECK_EQ(events_of(INVENTORY_ROOT), 3);
}

TEST(discover_that_does_not_run_answers_nobody)
{
    AUTO_NODE n = {.released = 0};
    AUTO_BUF struct buf json = {0};
    struct discover_stats s;
    CHECK_EQ(node_new(&n, DISCOVER_BY_KUBE, POLICY_ALL), 0);
    struct kube_handlers h = mailbox_handlers(n.d);
    u64 began = now_ns();
    CHECK_EQ(discover_stats(n.d, &s, 10), -ETIMEDOUT);
    CHECK_EQ(discover_targets(n.d, &json, 10), -ETIMEDOUT);
    CHECK_EQ(json.len, 0);
    CHECK(now_ns() - began < 5 * NS_PER_SEC);
    h.pod(h.ctx, pod_of(UID, "web", "true", NULL)); /* all of it is freed with the mailbox */
    h.ns(h.ctx, namespace_of("shop", "cpu"));
    h.pod_gone(h.ctx, UID);
    h.ns_gone(h.ctx, "shop");
    discover_stranger(n.d, 9, 1);
    group(&n, 5, POD, true);
    struct discover_rules *next = malloc(sizeof(*next));
    *next = rules_of(&n, POLICY_ALL, 99);
    discover_reload(n.d, &next);
    discover_free(&n.d);
    CHECK_EQ(n.released, 2);
}

TEST(discover_counts_what_finds_no_place)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_BY_KUBE, POLICY_ALL), 0);
    struct discover *d = n.d;
    size_t put = 0;
    for (; put < 100000 && !d->mailbox_full; put++)
        discover_stranger(d, 9, 1);
    CHECK_EQ(put, 16384 + 1);
    group(&n, 5, POD, true);
    CHECK_EQ(d->mailbox_full, 2);
    struct discover_stats s;
    u64 began = now_ns();
    CHECK_EQ(discover_stats(d, &s, 60000), -ETIMEDOUT); /* at once */
    CHECK(now_ns() - began < 5 * NS_PER_SEC);
    struct kube_handlers h = mailbox_handlers(d);
    d->stop = true; /* else it would wait for a place: what Kubernetes says is said once */
    h.pod(h.ctx, pod_of(UID, "web", "true", NULL));
    CHECK_EQ(d->mailbox_full, 2);
}
