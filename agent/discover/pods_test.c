/* Pods and namespaces: from runtimes that know several sandboxes, from API servers that forbid. */
#include "base/json.h"
#include "discover/node_test.h"
#include "net/http_server_test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A sandbox that died has a successor under the same uid: the pod is there until the last one goes. */
TEST(discover_keeps_a_pod_until_its_last_sandbox_goes)
{
    AUTO_NODE n = {.two_sandboxes = true};
    CHECK_EQ(node_new(&n, DISCOVER_BY_CRI, POLICY_ANNOTATION), 0);
    CHECK_EQ(node_start(&n), 0);
    node_group(&n, 5, POD, true);
    node_group(&n, 6, POD "/" C2, true);
    node_group(&n, 8, POD "/" C3, true);
    node_group(&n, 7, POD "/" C1, true);
    WAIT(node_stats(&n).containers.unnamed == 0);
    CHECK_EQ(node_stats(&n).pods, 1);
    node_group(&n, 6, POD "/" C2, false);
    WAIT(node_stats(&n).containers.containers == 2 && !node_stats(&n).containers.ended); /* its time is over */
    CHECK_EQ(node_stats(&n).containers.ended, 0);
    CHECK_EQ(node_stats(&n).pods, 1);
    CHECK_EQ(kernel_events(5), 1);
    node_group(&n, 8, POD "/" C3, false);
    WAIT(node_stats(&n).pods == 0);
    CHECK_EQ(node_stats(&n).pods, 0);
}

static struct kube_pod *mirror_of(const char *uid, const char *runtime_uid)
{
    struct kube_pod *p = NULL;
    if (kube_pod_new(&p, uid, "shop", "static"))
        return NULL;
    kube_pairs_add(&p->annotations, "xprof.io/profile", "cpu");
    if (runtime_uid && kube_pod_set(&p->runtime_uid, runtime_uid))
        kube_pod_free(&p);
    return p;
}

#define HASH1 "0123456789abcdef0123456789abcde1"
#define HASH2 "0123456789abcdef0123456789abcde2"

TEST(discover_pods_that_mirror_another_one_no_more)
{
    AUTO_NODE n = {.released = 0};
    CHECK_EQ(node_new(&n, DISCOVER_BY_KUBE, POLICY_ANNOTATION), 0);
    CHECK_EQ(node_start(&n), 0);
    struct kube_handlers h = mailbox_handlers(n.d);
    node_group(&n, 8, "/kubepods/pod" HASH1, true);
    node_group(&n, 9, "/kubepods/pod" HASH2, true);
    h.pod(h.ctx, mirror_of("u3", HASH1));
    node_stats(&n);
    CHECK_EQ(kernel_events(8), 1);
    h.pod(h.ctx, mirror_of("u3", HASH2));
    node_stats(&n);
    CHECK_EQ(kernel_events(8), 0);
    CHECK_EQ(kernel_events(9), 1);
    h.pod_gone(h.ctx, "u3");
    node_stats(&n);
    CHECK_EQ(kernel_events(9), 0);
}

static struct kube_namespace *namespace_that_wants(const char *name, const char *profile)
{
    struct kube_namespace *ns = calloc(1, sizeof(*ns));
    ns->name = strdup(name);
    kube_pairs_add(&ns->annotations, "xprof.io/profile", profile);
    return ns;
}

TEST(discover_forgets_what_a_namespace_wanted)
{
    AUTO_NODE n = {.released = 0};
    struct kube_pod *p = NULL;
    CHECK_EQ(node_new(&n, DISCOVER_BY_KUBE, POLICY_ALL), 0);
    CHECK_EQ(node_start(&n), 0);
    struct kube_handlers h = mailbox_handlers(n.d);
    CHECK_EQ(kube_pod_new(&p, UID, "shop", "web"), 0);
    node_group(&n, 5, POD, true);
    h.pod(h.ctx, p);
    h.ns(h.ctx, namespace_that_wants("shop", "cpu"));
    CHECK_EQ(node_stats(&n).wanted, 1);
    CHECK_EQ(kernel_events(5), 1);
    h.ns_gone(h.ctx, "shop");
    CHECK_EQ(node_stats(&n).wanted, 0);
    CHECK_EQ(kernel_events(5), 0);
}

TEST(discover_warns_again_when_rules_change)
{
    AUTO_NODE n = {.released = 0};
    struct kube_pod *p = NULL;
    CHECK_EQ(node_new(&n, DISCOVER_BY_KUBE, POLICY_ANNOTATION), 0);
    CHECK_EQ(node_start(&n), 0);
    struct kube_handlers h = mailbox_handlers(n.d);
    CHECK_EQ(kube_pod_new(&p, UID, "shop", "web"), 0);
    kube_pairs_add(&p->annotations, "xprof.io/profile", "nonsense");
    h.pod(h.ctx, p);
    h.pod(h.ctx, mirror_of("u3", NULL)); /* nothing is wrong with this one */
    CHECK_EQ(node_stats(&n).warnings, 1);
    struct discover_rules rules = node_rules(&n, POLICY_ANNOTATION, 99);
    rules.pod_events = true; /* if there were an API server */
    node_reload(&n, rules);
    CHECK_EQ(node_stats(&n).warnings, 2);
}

/* ---- With the threads of Kubernetes ---- */

static int discover_with(struct node *n, const struct kube_config *kube, char *why, size_t size)
{
    struct discover_rules rules = node_rules(n, POLICY_ALL, 50);
    discover_free(&n->d);
    struct discover_config c = n->d ? n->d->config : (struct discover_config){.publisher = n->publisher};
    c.hierarchy = &n->hierarchy;
    c.containers = (struct containers_config){.hierarchy = n->hierarchy, .cri_socket = "none"};
    c.source = DISCOVER_BY_KUBE;
    c.kube = *kube;
    return discover_new(&n->d, &c, &rules, why, size);
}

TEST(discover_needs_to_know_the_node)
{
    AUTO_NODE n = {.released = 0};
    char why[256] = "";
    CHECK_EQ(node_new(&n, DISCOVER_BY_KUBE, POLICY_ALL), 0);
    CHECK_EQ(discover_with(&n, &(struct kube_config){.url = "http://127.0.0.1:1"}, why, sizeof(why)), -EINVAL);
    CHECK_STR(why, "Kubernetes: the node name or the API server is not known");
    CHECK(!n.d);
    CHECK_EQ(n.released, 2); /* the rules of both */
}

struct api {
    bool stop;
};

static bool forbid(void *ctx, const struct test_request *r)
{
    test_reply(r->fd, 403, "", "{}", 2);
    if (r->nth == 1) /* the first answer has arrived: it asks again */
        __atomic_store_n(&((struct api *)ctx)->stop, true, __ATOMIC_RELAXED);
    return true;
}

/* A server that forbids namespaces from the first moment may have just started; later it means it. */
TEST(discover_does_without_namespaces_that_are_forbidden)
{
    struct api api = {false};
    struct test_server *server = NULL;
    struct discover d = {.rules = {.rate = 50}, .synced = true};
    struct kube_handlers none = {0};
    struct containers_config containers = {.hierarchy = {.mount = "/nowhere"}, .cri_socket = "none"};
    struct containers_handlers nobody = {0};
    d.inventory = (struct inventory){.rules = &d.rules, .source = DISCOVER_BY_KUBE, .hz = 50};
    CHECK_EQ(containers_new(&d.containers, &containers, &nobody), 0);
    CHECK_EQ(test_server_new(&server, forbid, &api), 0);
    struct kube_config kube = {.url = test_server_url(server), .node = "n", .retry_ms = 1, .forbidden_ms = 1};
    CHECK_EQ(kube_new(&d.kube, &kube, &none), 0);
    d.started_ns = now_ns() - 16 * NS_PER_SEC;
    pods_look_for_namespaces(&d);
    CHECK(!d.inventory.without_namespaces); /* nobody was asked yet */
    kube_run_namespaces(d.kube, &api.stop);
    d.started_ns = now_ns();
    pods_look_for_namespaces(&d);
    CHECK(!d.inventory.without_namespaces);
    d.started_ns = now_ns() - 16 * NS_PER_SEC;
    d.synced = false;
    pods_look_for_namespaces(&d);
    CHECK(!d.inventory.without_namespaces);
    d.synced = d.namespaces = true; /* they were listed before */
    pods_look_for_namespaces(&d);
    CHECK(!d.inventory.without_namespaces);
    d.namespaces = false;
    pods_look_for_namespaces(&d);
    CHECK(d.inventory.without_namespaces);
    kube_free(&d.kube);
    containers_free(&d.containers);
    test_server_free(&server);
}

/* Pods come from it, namespaces do not: that is known at once. */
static bool kubelet(void *ctx, const struct test_request *r)
{
    static const char pods[] =
        "{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\","
        "\"uid\":\"" UID "\"}}]}";
    test_reply(r->fd, 200, "Content-Type: application/json\r\n", pods, sizeof(pods) - 1);
    return true;
}

TEST(discover_takes_pods_from_a_kubelet)
{
    AUTO_NODE n = {.released = 0};
    struct test_server *server = NULL;
    char why[256];
    CHECK_EQ(node_new(&n, DISCOVER_NO_KUBE, POLICY_ALL), 0);
    CHECK_EQ(test_server_new(&server, kubelet, NULL), 0);
    struct discover_sampler sampler = n.d->config.sampler;
    struct kube_config kube = {.source = KUBE_KUBELET, .url = test_server_url(server)};
    int rc = discover_with(&n, &kube, why, sizeof(why));
    if (!rc) {
        n.d->config.sampler = sampler;
        rc = node_start(&n);
    }
    if (!rc)
        WAIT(node_stats(&n).wanted == 1 && node_stats(&n).synced);
    struct discover_stats s = rc ? (struct discover_stats){0} : node_stats(&n);
    discover_free(&n.d);
    test_server_free(&server);
    CHECK_EQ(rc, 0);
    CHECK(s.pods == 1 && s.wanted == 1 && s.synced && !s.by_runtime);
    CHECK(s.kube.lists >= 1);
}

struct selecting { /* an API server with one pod and its namespace, and the selector that a reload brings */
    unsigned lists;
    struct selector *selector;
};

static bool serve(void *ctx, const struct test_request *r)
{
    static const char pods[] =
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":"
        "{\"name\":\"web\",\"namespace\":\"shop\",\"uid\":\"" UID "\"}}]}";
    static const char namespaces[] =
        "{\"kind\":\"NamespaceList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":["
        "{\"metadata\":{\"name\":\"shop\",\"resourceVersion\":\"1\",\"labels\":{\"env\":\"prod\"},"
        "\"annotations\":{\"other.io/profile\":\"false\"}}}]}";
    bool watch = strstr(r->head, "watch=1"), of_pods = strstr(r->head, "/pods?");
    const char *body = watch ? "" : of_pods ? pods : namespaces;
    if (!watch && !of_pods)
        __atomic_add_fetch(&((struct selecting *)ctx)->lists, 1, __ATOMIC_RELAXED);
    test_reply(r->fd, 200, "Content-Type: application/json\r\n", body, strlen(body));
    return true;
}

static void reload_with(struct node *n, const struct selector *s, const char *prefix)
{
    struct discover_rules rules = node_rules(n, POLICY_ALL, 50);
    rules.policy.namespaces = s;
    rules.policy.prefix = prefix;
    node_reload(n, rules);
}

/* Of namespaces only that is kept which the rules look at. New rules look at more: all are read again. */
TEST(discover_reads_namespaces_again_for_new_keys)
{
    AUTO_NODE n = {.released = 0};
    struct test_server *server = NULL;
    struct selecting api = {0};
    char why[256];
    CHECK_EQ(selector_parse(&api.selector, "env=prod", why, sizeof(why)), 0);
    CHECK_EQ(node_new(&n, DISCOVER_NO_KUBE, POLICY_ALL), 0);
    CHECK_EQ(test_server_new(&server, serve, &api), 0);
    struct discover_sampler sampler = n.d->config.sampler;
    struct kube_config kube = {.url = test_server_url(server), .node = "n", .token = "t", .retry_ms = 1};
    int rc = discover_with(&n, &kube, why, sizeof(why));
    if (!rc) {
        n.d->config.sampler = sampler;
        rc = node_start(&n);
    }
    unsigned profiled[4] = {0};
    if (!rc) {
        WAIT((profiled[0] = (unsigned)node_stats(&n).wanted) == 1);
        reload_with(&n, api.selector, NULL);
        WAIT((profiled[1] = (unsigned)node_stats(&n).wanted) == 1 &&
             __atomic_load_n(&api.lists, __ATOMIC_RELAXED) == 2);
        reload_with(&n, api.selector, "other.io");
        WAIT(__atomic_load_n(&api.lists, __ATOMIC_RELAXED) == 3 && node_stats(&n).namespaces == 1);
        profiled[2] = (unsigned)node_stats(&n).wanted;
        reload_with(&n, api.selector, "other.io"); /* the same keys */
        usleep(100000);
        profiled[3] = (unsigned)node_stats(&n).wanted;
    }
    discover_free(&n.d);
    test_server_free(&server);
    selector_free(&api.selector);
    CHECK_EQ(rc, 0);
    CHECK(profiled[0] == 1 && profiled[1] == 1 && profiled[2] == 0 && profiled[3] == 0);
    CHECK_EQ(api.lists, 3);
}

/* ---- The page of targets ---- */

TEST(discover_targets_are_json)
{
    AUTO_NODE n = {.released = 0};
    AUTO_BUF struct buf page = {0};
    CLEANUP(json_free) struct json *j = NULL;
    CHECK_EQ(node_new(&n, DISCOVER_NO_KUBE, POLICY_ALL), 0);
    CHECK_EQ(node_start(&n), 0);
    CHECK_EQ(discover_targets(n.d, &page, 10000), 0);
    CHECK(page.len == 4 && !memcmp(page.data, "[\n]\n", 4));
    node_group(&n, 6, "/system.slice/ssh.service", true);
    node_group(&n, 5, "/kubepods/pod" UID "/" C1, true);
    buf_free(&page);
    CHECK_EQ(discover_targets(n.d, &page, 10000), 0);
    CHECK_EQ(json_parse(&j, page.data, page.len, 1 << 20), 0);
    CHECK_EQ(json_count(j), 2);
    const struct json *unit = json_item(j, 0), *container = json_item(j, 1);
    CHECK_STR(json_get_text(unit, "kind"), "unit");
    CHECK(!json_get(unit, "id") && !json_get(unit, "pod_uid"));
    CHECK_STR(json_get_text(json_get(unit, "labels"), "unit"), "ssh.service");
    CHECK_STR(json_get_text(json_get(unit, "labels"), "service_name"), "ssh.service");
    CHECK_STR(json_get_text(container, "kind"), "container");
    CHECK_STR(json_get_text(container, "id"), C1);
    CHECK_STR(json_get_text(container, "pod_uid"), UID);
    CHECK_STR(json_get_text(json_get(container, "labels"), "container_id"), "0123456789ab");
    CHECK(!json_get(json_get(container, "labels"), "pod") && !json_get(json_get(container, "labels"), "image"));
}
