/* The discovery's thread: what arrives in the mailbox, and what is wanted then. */
#include "discover/node_test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

TEST(discover_wants_all_containers)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_NO_KUBE, POLICY_ALL), 0);
    CHECK_EQ(node_start(&n), 0);
    node_group(&n, 5, "/docker/" C1, true);
    node_group(&n, 6, "/system.slice/ssh.service", true);
    node_group(&n, 7, "/user.slice/x", true);
    CHECK(node_says(&n, "\"kind\":\"container\",\"path\":\"/docker/" C1 "\",\"id\":\"" C1 "\",\"runtime\":"));
    CHECK(node_says(&n, "\"reason\":\"all containers are profiled\",\"profiled\":true,\"cgroup\":5,\"labels\":{\""));
    CHECK(node_says(
        &n, "\"kind\":\"unit\",\"path\":\"/system.slice/ssh.service\",\"reason\":\"processes of the host are "));
    CHECK(node_says(&n, "\"unit\":\"ssh.service\""));
    CHECK(!node_says(&n, "user.slice"));
    CHECK_EQ(kernel_events(5), 3);
    CHECK_EQ(kernel_events(6), 3);
    CHECK_EQ(kernel_want(7), NO_WANT); /* it inherits the root's */
    CHECK_EQ(kernel_events(INVENTORY_ROOT), 3);
    struct discover_stats s = node_stats(&n);
    CHECK_EQ(s.pods, 0);
    CHECK(s.synced && !s.by_runtime);
    CHECK_EQ(s.containers.containers, 1);
    node_group(&n, 5, "/docker/" C1, false);
    WAIT(kernel_want(5) == NO_WANT);
    CHECK_EQ(kernel_want(5), NO_WANT);
    CHECK(!node_says(&n, C1));
}

TEST(discover_takes_pods_from_the_runtime)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_BY_CRI, POLICY_ANNOTATION), 0);
    CHECK_EQ(node_start(&n), 0);
    node_group(&n, 4, "/kubepods", true);
    node_group(&n, 5, POD, true);
    node_group(&n, 6, POD "/" C2, true);
    node_group(&n, 7, POD "/" C1, true);
    WAIT(node_stats(&n).wanted == 1 && node_says(&n, "\"container\":\"main\""));
    struct discover_stats s = node_stats(&n);
    CHECK_EQ(s.pods, 1);
    CHECK_EQ(s.wanted, 1);
    CHECK(s.by_runtime && s.synced);
    CHECK_STR(s.runtime, "fake 1.0");
    CHECK_STR(s.runtime_why, "");
    CHECK_EQ(kernel_events(4), 0); /* nothing there, until its pod says so */
    CHECK_EQ(kernel_events(5), 1);
    CHECK_EQ(kernel_events(6), 0); /* the pause container */
    CHECK_EQ(kernel_want(7), NO_WANT);
    CHECK(node_says(&n, "\"pod_uid\":\"" UID "\""));
    CHECK(node_says(&n, "\"pod\":\"web-0\""));
    node_group(&n, 6, POD "/" C2, false);
    WAIT(node_stats(&n).pods == 0);
    CHECK_EQ(node_stats(&n).pods, 0);
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

/* A node with a pod that is to be profiled, whose group is 5. */
static int begin_with_pod(struct node *n, struct kube_handlers *h)
{
    int rc = node_new(n, DISCOVER_BY_KUBE, POLICY_ANNOTATION);
    if (!rc)
        rc = node_start(n);
    if (rc)
        return rc;
    *h = mailbox_handlers(n->d);
    node_group(n, 5, POD, true);
    h->pod(h->ctx, pod_of(UID, "web", "true", NULL));
    return 0;
}

TEST(discover_follows_pods_as_they_come_and_go)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_BY_KUBE, POLICY_ANNOTATION), 0);
    CHECK_EQ(node_start(&n), 0);
    struct kube_handlers h = mailbox_handlers(n.d);
    node_group(&n, 5, POD, true);
    node_stats(&n);
    CHECK_EQ(kernel_events(5), 0); /* nobody knows it yet */
    CHECK(node_says(&n, "\"kind\":\"pod\""));
    h.pod(h.ctx, pod_of(UID, "web", "true", NULL));
    CHECK_EQ(node_stats(&n).pods, 1);
    CHECK_EQ(kernel_events(5), 3);
    CHECK_EQ(XP_WANT_EVERY(kernel_want(5)), 1);
    h.pod(h.ctx, pod_of("u2", "fast", "true", "200")); /* the others get a share of the higher rate */
    CHECK_EQ(node_stats(&n).wanted, 2);
    CHECK_EQ(kernel_rate(), 200);
    CHECK_EQ(XP_WANT_EVERY(kernel_want(5)), 4);
    h.pod_gone(h.ctx, "u2");
    h.pod_gone(h.ctx, "nobody");
    CHECK_EQ(node_stats(&n).pods, 1);
    CHECK_EQ(kernel_rate(), 50);
    CHECK_EQ(XP_WANT_EVERY(kernel_want(5)), 1);
    CHECK_EQ(node_stats(&n).warnings, 0);
    h.pod(h.ctx, pod_of(UID, "web", "nonsense", NULL));
    CHECK_EQ(node_stats(&n).warnings, 1);
    CHECK_EQ(kernel_events(5), 0);
    h.pod(h.ctx, pod_of(UID, "web", "nonsense", NULL)); /* that is no news */
    CHECK_EQ(node_stats(&n).warnings, 1);
    h.pod(h.ctx, pod_of(UID, "web", "cpu", NULL));
    node_stats(&n);
    CHECK_EQ(kernel_events(5), 1);
    struct kube_pod *mirror = pod_of("u3", "static", "true", NULL); /* two pods say whose cgroup it is, and one goes */
    CHECK_EQ(kube_pod_set(&mirror->runtime_uid, "hash"), 0);
    node_group(&n, 8, "/kubepods/podhash", true);
    h.pod(h.ctx, mirror);
    h.pod_gone(h.ctx, UID);
    CHECK_EQ(node_stats(&n).wanted, 1);
    CHECK_EQ(kernel_events(5), 0);
}

/* What was sampled of a group that has ended is named for a while, but nobody wants more of it, whatever is heard of
 * its pod: else its events stayed attached for as long. */
TEST(discover_wants_nothing_of_a_group_that_has_ended)
{
    AUTO_NODE n = {.released = 0};
    struct kube_handlers h;
    CHECK_EQ(begin_with_pod(&n, &h), 0);
    node_stats(&n);
    CHECK_EQ(kernel_events(5), 3);
    node_group(&n, 5, POD, false);
    node_stats(&n);
    CHECK_EQ(kernel_events(5), ~0u);
    h.pod(h.ctx, pod_of(UID, "web", "cpu", NULL));
    node_stats(&n);
    CHECK_EQ(kernel_events(5), ~0u);
}

/* What one pod requests beyond the rate of all is taken from it first. */
TEST(discover_lowers_the_rate_of_those_above_others_first)
{
    AUTO_NODE n = {.released = 0};
    struct kube_handlers h;
    CHECK_EQ(begin_with_pod(&n, &h), 0);
    h.pod(h.ctx, pod_of("u2", "fast", "true", "200"));
    node_stats(&n);
    CHECK_EQ(XP_WANT_EVERY(kernel_want(5)), 4);
    discover_set_share(n.d, 50);
    node_stats(&n);
    CHECK_EQ(kernel_rate(), 100);
    CHECK_EQ(XP_WANT_EVERY(kernel_want(5)), 2); /* 50 Hz as before */
    discover_set_share(n.d, 25);
    node_stats(&n);
    CHECK_EQ(kernel_rate(), 50);
    CHECK_EQ(XP_WANT_EVERY(kernel_want(5)), 1);
    discover_set_share(n.d, 10); /* now it is everybody's turn */
    node_stats(&n);
    CHECK_EQ(kernel_rate(), 20);
    CHECK_EQ(XP_WANT_EVERY(kernel_want(5)), 1);
    discover_set_share(n.d, 0);
    node_stats(&n);
    CHECK_EQ(kernel_rate(), 1);
    discover_set_share(n.d, 100);
    node_stats(&n);
    CHECK_EQ(kernel_rate(), 200);
    CHECK_EQ(XP_WANT_EVERY(kernel_want(5)), 4);
}

static struct kube_namespace *namespace_of(const char *name, const char *profile)
{
    struct kube_namespace *ns = calloc(1, sizeof(*ns));
    ns->name = strdup(name);
    kube_pairs_add(&ns->annotations, "xprof.io/profile", profile);
    return ns;
}

TEST(discover_waits_for_namespaces_that_may_opt_out)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_BY_KUBE, POLICY_ALL), 0);
    CHECK_EQ(node_start(&n), 0);
    struct kube_handlers h = mailbox_handlers(n.d);
    struct kube_pod *p = NULL;
    CHECK_EQ(kube_pod_new(&p, UID, "shop", "web"), 0);
    node_group(&n, 5, POD, true);
    h.pod(h.ctx, p);
    CHECK_EQ(node_stats(&n).pods, 1);
    CHECK_EQ(kernel_events(5), 0);
    h.ns(h.ctx, namespace_of("shop", "cpu"));
    CHECK_EQ(node_stats(&n).namespaces, 1);
    CHECK_EQ(kernel_events(5), 1);
    h.ns(h.ctx, namespace_of("shop", "false"));
    CHECK_EQ(node_stats(&n).namespaces, 1);
    CHECK_EQ(kernel_events(5), 0);
    h.ns_gone(h.ctx, "shop");
    CHECK_EQ(node_stats(&n).namespaces, 0);
    CHECK_EQ(kernel_events(5), 0); /* not known is no consent */
    mailbox_no_namespaces(n.d);
    node_stats(&n);
    CHECK_EQ(kernel_events(5), 3); /* they cannot be had */
    h.synced(h.ctx, true);
    node_stats(&n);
    CHECK_EQ(kernel_events(5), 0); /* they can */
}

TEST(discover_puts_new_rules_in_force)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_NO_KUBE, POLICY_ALL), 0);
    CHECK_EQ(node_start(&n), 0);
    node_group(&n, 5, "/docker/" C1, true);
    node_stats(&n);
    CHECK_EQ(kernel_events(5), 3);
    struct discover_rules *next = malloc(sizeof(*next));
    *next = node_rules(&n, POLICY_ANNOTATION, 99);
    discover_reload(n.d, &next);
    CHECK(!next);
    node_stats(&n);
    CHECK_EQ(kernel_events(5), 0);
    CHECK_EQ(kernel_rate(), 99);
    CHECK_EQ(__atomic_load_n(&n.released, __ATOMIC_RELAXED), 1);
    next = malloc(sizeof(*next));
    *next = node_rules(&n, POLICY_ALL, 99);
    discover_reload(n.d, &next);
    node_stats(&n);
    CHECK_EQ(kernel_events(5), 3);
    discover_free(&n.d);
    CHECK_EQ(n.released, 3);
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
    node_group(&n, 5, POD, true);
    struct discover_rules *next = malloc(sizeof(*next));
    *next = node_rules(&n, POLICY_ALL, 99);
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
    node_group(&n, 5, POD, true);
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

/* Nobody's cgroups are judged for a namespace of which the node has no pod, and nobody's twice for the same. */
TEST(discover_judges_only_whom_a_namespace_concerns)
{
    enum { PODS = 250, NAMESPACES = 10000 };
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_BY_KUBE, POLICY_ALL), 0);
    CHECK_EQ(node_start(&n), 0);
    struct kube_handlers h = mailbox_handlers(n.d);
    for (unsigned i = 0; i < PODS; i++) {
        char uid[64], path[256], name[16];
        struct kube_pod *p = NULL;
        snprintf(uid, sizeof(uid), "11111111-2222-3333-4444-%012u", i);
        snprintf(name, sizeof(name), "n%05u", i * 7);
        CHECK_EQ(kube_pod_new(&p, uid, name, "web"), 0);
        h.pod(h.ctx, p);
        snprintf(path, sizeof(path), "/kubepods/burstable/pod%s", uid);
        node_group(&n, GROUPS + 2 * i, path, true);
        snprintf(path, sizeof(path), "/kubepods/burstable/pod%s/" HEX "%04u", uid, i);
        node_group(&n, GROUPS + 2 * i + 1, path, true);
    }
    u64 before = node_stats(&n).verdicts;
    for (unsigned i = 0; i < NAMESPACES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%05u", i);
        h.ns(h.ctx, namespace_of(name, i % 2 ? "cpu" : "false"));
    }
    h.synced(h.ctx, true);
    struct discover_stats s = node_stats(&n);
    CHECK_EQ(s.namespaces, NAMESPACES);
    CHECK_EQ(s.wanted, PODS / 2);
    CHECK(s.verdicts >= before + PODS && s.verdicts <= before + 2 * PODS); /* those of pods that opt in */
    before = s.verdicts;
    for (unsigned i = 0; i < NAMESPACES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%05u", i);
        h.ns(h.ctx, namespace_of(name, i % 2 ? "cpu" : "false")); /* another version that says the same */
    }
    h.ns_gone(h.ctx, "n00001"); /* nobody's */
    CHECK_EQ(node_stats(&n).verdicts, before);
    h.ns_gone(h.ctx, "n00007");
    CHECK_EQ(node_stats(&n).verdicts, before + 2);
}
