#include "kube/pod.h"
#include "base/cleanup.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/test.h"
#include "kube/labels.h"
#include "kube/workload.h"
#include <errno.h>
#include <stdlib.h>

#define AUTO_POD CLEANUP(kube_pod_free)

static int pod_of(struct kube_pod **out, const char *text)
{
    CLEANUP(json_free) struct json *j = NULL;
    int rc = json_parse(&j, text, strlen(text), 1 << 20);
    return rc ? rc : kube_pod_from_json(out, j);
}

/* As an API server 1.35 writes it, without managedFields. */
static const char web[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web-7c9d8f6b5-x2lqk\",\"generateName\":\"web-"
    "7c9d8f6b5-\",\"namespace\":\"shop\",\"uid\":\"0b7a3c1e-5a3d-4c62-9c51-3f2b6f0d9a11\",\"resourceVersion\":"
    "\"48211\",\"creationTimestamp\":\"2026-01-31T09:29:58Z\",\"labels\":{\"app.kubernetes.io/name\":\"web\","
    "\"app.kubernetes.io/version\":\"1.4\",\"pod-template-hash\":\"7c9d8f6b5\",\"team\":\"check\\u00e4out\"},"
    "\"annotations\":{\"xprof.io/profile\":\"true\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
    "\"ReplicaSet\",\"name\":\"web-7c9d8f6b5\",\"uid\":\"6d9e\",\"controller\":true,\"blockOwnerDeletion\":true}]},"
    "\"spec\":{\"initContainers\":[{\"name\":\"migrate\",\"image\":\"shop/migrate:2\"}],\"containers\":[{\"name\":"
    "\"app\",\"image\":\"registry.local:5000/shop/web:1.4.2\"},{\"name\":\"proxy\",\"image\":\"envoy@sha256:11\"}],"
    "\"nodeName\":\"node1\"},\"status\":{\"phase\":\"Running\",\"podIP\":\"10.88.0.7\",\"startTime\":"
    "\"2026-01-31T09:30:00Z\",\"initContainerStatuses\":[{\"name\":\"migrate\",\"state\":{\"terminated\":{"
    "\"exitCode\":0}},\"containerID\":\"containerd://aaaa\"}],\"containerStatuses\":[{\"name\":\"proxy\",\"state\":{"
    "\"running\":{\"startedAt\":\"2026-01-31T09:30:01Z\"}},\"lastState\":{\"terminated\":{\"containerID\":"
    "\"containerd://0ld\"}},\"containerID\":\"containerd://cccc\"},{\"name\":\"app\",\"state\":{\"running\":{}},"
    "\"containerID\":\"containerd://bbbb\"}]}}";

TEST(kube_pod_fields)
{
    AUTO_POD struct kube_pod *p = NULL;
    CHECK_EQ(pod_of(&p, web), 0);
    CHECK_STR(p->uid, "0b7a3c1e-5a3d-4c62-9c51-3f2b6f0d9a11");
    CHECK_STR(p->runtime_uid, p->uid);
    CHECK_STR(p->namespace, "shop");
    CHECK_STR(p->name, "web-7c9d8f6b5-x2lqk");
    CHECK_STR(p->node, "node1");
    CHECK_STR(p->phase, "Running");
    CHECK_STR(p->ip, "10.88.0.7");
    CHECK_STR(p->resource_version, "48211");
    CHECK_STR(p->workload_kind, "Deployment");
    CHECK_STR(p->workload_name, "web");
    CHECK_EQ(p->started, 1769851800);
    CHECK(!p->deleting && !p->left_out);
    CHECK_STR(kube_pairs_get(&p->labels, "team"), "check\xc3\xa4out");
    CHECK_STR(kube_pairs_get(&p->annotations, "xprof.io/profile"), "true");
}

TEST(kube_pod_containers)
{
    AUTO_POD struct kube_pod *p = NULL;
    CHECK_EQ(pod_of(&p, web), 0);
    CHECK_EQ(p->ncontainers, 3);
    const struct kube_container *c = kube_pod_container(p, "bbbb");
    CHECK(c && c->running && !c->init);
    CHECK_STR(c->name, "app");
    CHECK_STR(c->image, "registry.local:5000/shop/web:1.4.2");
    c = kube_pod_container(p, "aaaa");
    CHECK(c && !c->running && c->init);
    c = kube_pod_container(p, "0ld"); /* the one before the restart */
    CHECK(c);
    CHECK_STR(c->name, "proxy");
    CHECK(!kube_pod_container(p, "") && !kube_pod_container(p, "dddd"));
}

TEST(kube_pod_static_and_sparse)
{
    AUTO_POD struct kube_pod *p = NULL, *q = NULL;
    CHECK_EQ(pod_of(&p,
                    "{\"metadata\":{\"uid\":\"u1\",\"namespace\":\"kube-system\",\"name\":\"etcd-node1\","
                    "\"deletionTimestamp\":\"2026-01-31T09:30:00Z\",\"annotations\":{"
                    "\"kubernetes.io/config.mirror\":\"4f2d9\"},\"ownerReferences\":[{\"kind\":\"Node\","
                    "\"name\":\"node1\",\"controller\":true}]}}"),
             0);
    CHECK_STR(p->uid, "u1");
    CHECK_STR(p->runtime_uid, "4f2d9");
    CHECK_STR(p->workload_kind, "");
    CHECK(p->deleting && !p->started && !p->ncontainers);
    CHECK_EQ(pod_of(&q, "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b\"}}"), -EBADMSG);
    CHECK_EQ(pod_of(&q, "{\"metadata\":{\"uid\":\"\",\"namespace\":\"a\",\"name\":\"b\"}}"), -EBADMSG);
    CHECK_EQ(pod_of(&q, "[]"), -EBADMSG);
    CHECK_EQ(pod_of(&q, "{\"metadata\":{\"uid\":7,\"namespace\":\"a\",\"name\":\"b\"}}"), -EBADMSG);
    CHECK(!q);
}

/* What is not there yet, or is written in another way, is empty. */
TEST(kube_pod_that_has_just_been_made)
{
    AUTO_POD struct kube_pod *p = NULL, *started = NULL;
    CHECK_EQ(pod_of(&p,
                    "{\"metadata\":{\"uid\":\"u\",\"namespace\":\"n\",\"name\":\"p\",\"ownerReferences\":["
                    "{\"kind\":\"Helper\",\"name\":\"h\"},{\"kind\":\"Job\",\"name\":\"j\",\"controller\":true}]},"
                    "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],"
                    "\"ephemeralContainers\":[{\"name\":\"debug\"}]},\"status\":{\"startTime\":\"2026-01-31\"}}"),
             0);
    CHECK_EQ(p->ncontainers, 2);
    CHECK_STR(p->containers[0].id, "");
    CHECK_STR(p->containers[0].last_id, "");
    CHECK_STR(p->containers[1].image, "");
    CHECK(!p->containers[0].ephemeral && p->containers[1].ephemeral && !p->containers[1].init);
    CHECK(!kube_pod_container(p, "abc") && !kube_pod_container(p, ""));
    CHECK_STR(p->node, "");
    CHECK_STR(p->phase, "");
    CHECK_STR(p->workload_kind, "Job"); /* the one that controls it */
    CHECK_EQ(p->started, 0);
    CHECK_EQ(kube_pod_guess_workload(p), 0);
    CHECK_STR(p->workload_name, "j");
    CHECK_EQ(pod_of(&started,
                    "{\"metadata\":{\"uid\":\"u\",\"namespace\":\"n\",\"name\":\"p\"},"
                    "\"status\":{\"startTime\":\"2026-01-31T09:30:00+01:00\"}}"),
             0);
    CHECK_EQ(started->started, 0);
}

TEST(kube_pod_bounds)
{
    AUTO_BUF struct buf b = {0};
    AUTO_POD struct kube_pod *p = NULL;
    buf_str(&b, "{\"metadata\":{\"uid\":\"u\",\"namespace\":\"n\",\"name\":\"p\",\"labels\":{\"odd\":7");
    for (int i = 0; i < 300; i++)
        buf_printf(&b, ",\"l%d\":\"v\"", i);
    buf_printf(&b, "},\"annotations\":{\"xprof.io/profile\":\"%0200000d\"}},\"spec\":{\"containers\":[{\"name\":1}", 1);
    for (int i = 0; i < 80; i++)
        buf_printf(&b, ",{\"name\":\"c%d\",\"image\":\"%02000d\"}", i, i);
    buf_str(&b,
            "]},\"status\":{\"containerStatuses\":[{\"name\":\"c0\",\"containerID\":\"bare\"},{\"name\":\"?\"},1]}}");
    buf_char(&b, 0);
    CHECK_EQ(pod_of(&p, b.data), 0);
    CHECK_EQ(p->labels.n, KUBE_PAIRS_MAX);
    CHECK_EQ(p->ncontainers, KUBE_CONTAINERS_MAX);
    CHECK_EQ(p->left_out, 1 + 44 + 1 + 16 + 64);
    CHECK_EQ(strlen(kube_pairs_get(&p->annotations, "xprof.io/profile")), KUBE_PAIR_VALUE_MAX);
    CHECK_EQ(strlen(p->containers[1].image), KUBE_TEXT_MAX);
    CHECK_STR(p->containers[0].id, "bare");
}

static bool workload_is(struct workload w, const char *kind, const char *name)
{
    return !strcmp(w.kind, kind) && w.name_len == strlen(name) && !memcmp(w.name, name, w.name_len);
}

TEST(kube_workloads)
{
    CLEANUP(kube_pairs_free) struct kube_pairs none = {0}, hash = {0}, set = {0}, daemon = {0}, job = {0};
    kube_pairs_add(&hash, "pod-template-hash", "7c9d8f6b5");
    CHECK(workload_is(workload_of_owner("ReplicaSet", "web-7c9d8f6b5", &hash), "Deployment", "web"));
    CHECK(workload_is(workload_of_owner("ReplicaSet", "web-7c9d8f6b5", &none), "ReplicaSet", "web-7c9d8f6b5"));
    CHECK(workload_is(workload_of_owner("ReplicaSet", "web-other", &hash), "ReplicaSet", "web-other"));
    CHECK(workload_is(workload_of_owner("ReplicaSet", "-7c9d8f6b5", &hash), "ReplicaSet", "-7c9d8f6b5"));
    CHECK(workload_is(workload_of_owner("Rollout", "web-7c9d8f6b5", &hash), "Rollout", "web-7c9d8f6b5"));
    CHECK(workload_is(workload_of_owner("StatefulSet", "db", &none), "StatefulSet", "db"));
    CHECK(workload_is(workload_of_owner("Job", "report-29487930", &none), "CronJob", "report"));
    CHECK(workload_is(workload_of_owner("Job", "report-1609459200", &none), "CronJob", "report"));
    CHECK(workload_is(workload_of_owner("Job", "import-20260131", &none), "Job", "import-20260131")); /* a date */
    CHECK(workload_is(workload_of_owner("Job", "import-294879x0", &none), "Job", "import-294879x0"));
    CHECK(workload_is(workload_of_owner("Job", "import", &none), "Job", "import"));
    CHECK(workload_is(workload_of_labels("web-7c9d8f6b5-x2lqk", &hash), "Deployment", "web"));
    CHECK(workload_is(workload_of_labels("web", &none), "", ""));
    CHECK(workload_is(workload_of_labels("web-7c9d8f6b5-x2lqk", &none), "", ""));
    kube_pairs_add(&set, "statefulset.kubernetes.io/pod-name", "db-0");
    CHECK(workload_is(workload_of_labels("db-0", &set), "StatefulSet", "db"));
    kube_pairs_add(&daemon, "pod-template-generation", "1");
    kube_pairs_add(&daemon, "controller-revision-hash", "5f6");
    CHECK(workload_is(workload_of_labels("log-agent-k2j5p", &daemon), "DaemonSet", "log-agent"));
    kube_pairs_add(&job, "batch.kubernetes.io/job-name", "report-29487930");
    CHECK(workload_is(workload_of_labels("report-29487930-abcde", &job), "CronJob", "report"));
}

static const struct kube_label_options plain = {.node = "node1"};

TEST(kube_labels_of_a_container)
{
    AUTO_POD struct kube_pod *p = NULL;
    CLEANUP(labels_free) struct label_set s = {0};
    unsigned left_out = 9;
    CHECK_EQ(pod_of(&p, web), 0);
    CHECK_EQ(kube_labels(&s, p, "app", NULL, NULL, &plain, &left_out), 0);
    CHECK_EQ(left_out, 0);
    CHECK_EQ(s.n, 9);
    CHECK_STR(labels_get(&s, "namespace"), "shop");
    CHECK_STR(labels_get(&s, "pod"), "web-7c9d8f6b5-x2lqk");
    CHECK_STR(labels_get(&s, "container"), "app");
    CHECK_STR(labels_get(&s, "node"), "node1");
    CHECK_STR(labels_get(&s, "workload_kind"), "Deployment");
    CHECK_STR(labels_get(&s, "workload_name"), "web");
    CHECK_STR(labels_get(&s, "service_name"), "web");
    CHECK_STR(labels_get(&s, "service_namespace"), "shop");
    CHECK_STR(labels_get(&s, "service_instance_id"), "shop.web-7c9d8f6b5-x2lqk.app");
}

/* The service name as more and more of its sources are there, the weakest first. */
TEST(kube_labels_order_of_the_service_name)
{
    AUTO_POD struct kube_pod *p = NULL;
    struct wants w = {.service_name = "by-annotation"};
    CHECK_EQ(kube_pod_new(&p, "u", "shop", "pod-1"), 0);
#define SERVICE(wanted, expected)                                                     \
    do {                                                                              \
        CLEANUP(labels_free) struct label_set s = {0};                                \
        CHECK_EQ(kube_labels(&s, p, "container-1", NULL, (wanted), &plain, NULL), 0); \
        CHECK_STR(labels_get(&s, "service_name"), (expected));                        \
    } while (0)
    SERVICE(NULL, "pod-1");
    CHECK_EQ(kube_pod_set(&p->workload_name, "by-workload"), 0);
    SERVICE(NULL, "by-workload");
    kube_pairs_add(&p->labels, "app.kubernetes.io/name", "by-name");
    SERVICE(NULL, "by-name");
    kube_pairs_add(&p->labels, "app.kubernetes.io/instance", "by-instance");
    SERVICE(NULL, "by-instance");
    kube_pairs_add(&p->annotations, "resource.opentelemetry.io/service.name", "by-otel");
    SERVICE(NULL, "by-otel");
    SERVICE(&w, "by-annotation");
    CHECK_EQ(kube_pod_set(&p->name, ""), 0);
    kube_pairs_free(&p->labels);
    kube_pairs_free(&p->annotations);
    CHECK_EQ(kube_pod_set(&p->workload_name, ""), 0);
    SERVICE(NULL, "container-1");
}

TEST(kube_labels_by_option)
{
    AUTO_POD struct kube_pod *p = NULL;
    CLEANUP(labels_free) struct label_set s = {0}, external = {0}, t = {0};
    const char *const chosen[] = {"app.kubernetes.io/version", "team", "pod", "absent"};
    CHECK_EQ(pod_of(&p, web), 0);
    CHECK_EQ(kube_pairs_add(&p->labels, "pod", "someone-else"), 0);
    CHECK_EQ(kube_pairs_add(&p->annotations, "resource.opentelemetry.io/service.namespace", "sales"), 0);
    CHECK_EQ(labels_set(&external, "cluster", "eu-1"), 0);
    CHECK_EQ(labels_set(&external, "namespace", "not this"), 0);
    struct kube_label_options o = {
        .pod_labels = chosen, .npod_labels = 4, .external = &external, .image = true, .version = true};
    CHECK_EQ(kube_labels(&s, p, "app", kube_pod_container(p, "bbbb"), NULL, &o, NULL), 0);
    CHECK_STR(labels_get(&s, "node"), "node1"); /* the pod's own */
    CHECK_STR(labels_get(&s, "cluster"), "eu-1");
    CHECK_STR(labels_get(&s, "namespace"), "shop");
    CHECK_STR(labels_get(&s, "pod"), "web-7c9d8f6b5-x2lqk"); /* a chosen label takes nobody's place */
    CHECK_STR(labels_get(&s, "team"), "check\xc3\xa4out");
    CHECK_STR(labels_get(&s, "app_kubernetes_io_version"), "1.4");
    CHECK_STR(labels_get(&s, "version"), "1.4");
    CHECK_STR(labels_get(&s, "image"), "registry.local:5000/shop/web:1.4.2");
    CHECK_STR(labels_get(&s, "service_namespace"), "sales");
    CHECK(!labels_get(&s, "absent"));
    kube_pairs_free(&p->labels);
    CHECK_EQ(kube_labels(&t, p, "app", kube_pod_container(p, "bbbb"), NULL, &o, NULL), 0);
    CHECK_STR(labels_get(&t, "version"), "1.4.2"); /* the tag */
}

TEST(kube_labels_are_bounded)
{
    AUTO_POD struct kube_pod *p = NULL;
    CLEANUP(labels_free) struct label_set s = {0};
    static char names[40][16];
    const char *chosen[40];
    unsigned left_out = 0;
    CHECK_EQ(pod_of(&p, web), 0);
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof(names[i]), "l%d", i);
        chosen[i] = names[i];
        CHECK_EQ(kube_pairs_add(&p->labels, names[i], "v"), 0);
    }
    struct kube_label_options o = {.pod_labels = chosen, .npod_labels = 40};
    CHECK_EQ(kube_labels(&s, p, "app", NULL, NULL, &o, &left_out), 0);
    CHECK_EQ(s.n, LABELS_MAX);
    CHECK_EQ(left_out, 9 + 40 - LABELS_MAX);
    CHECK_STR(labels_get(&s, "service_name"), "web");
}
