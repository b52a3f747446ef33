/* Events that are posted about pods: what they say, and that nobody waits for a slow server. */
#include "kube/event.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/stop.h"
#include "base/test.h"
#include "kube/kube.h"
#include "net/http_server_test.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static bool take_event(void *ctx, const struct test_request *r)
{
    struct buf *b = ctx;
    buf_printf(b, "%.*s %s", (int)strcspn(r->head, "\r\n"), r->head, r->body);
    test_reply(r->fd, r->nth ? 403 : 201, "", "{}", 2);
    return true;
}

TEST(event_on_a_pod)
{
    AUTO_BUF struct buf got = {0};
    CLEANUP(test_server_free) struct test_server *server = NULL;
    CLEANUP(kube_free) struct kube *k = NULL;
    CLEANUP(kube_pod_free) struct kube_pod *pod = NULL;
    CLEANUP(json_free) struct json *j = NULL;
    struct kube_handlers h = {0};
    CHECK_EQ(test_server_new(&server, take_event, &got), 0);
    CHECK_EQ(kube_new(&k, &(struct kube_config){.url = test_server_url(server), .node = "node1", .token = "t"}, &h), 0);
    CHECK_EQ(kube_pod_new(&pod, "u1", "shop", "web"), 0);
    CHECK_EQ(kube_post_event(k, pod, "BadAnnotation", "say \"what\"\x1b?"), 0);
    const char *line = "POST /api/v1/namespaces/shop/events HTTP/1.1 ";
    CHECK(!strncmp(got.data, line, strlen(line)));
    const char *body = got.data + strlen(line);
    CHECK_EQ(json_parse(&j, body, strlen(body), 10000), 0);
    CHECK_STR(json_text(json_at_path(j, "involvedObject.uid")), "u1");
    CHECK_STR(json_text(json_at_path(j, "metadata.namespace")), "shop");
    CHECK_STR(json_get_text(j, "message"), "say \"what\" ?");
    CHECK_STR(json_get_text(j, "type"), "Warning");
    CHECK_EQ(kube_post_event(k, pod, "BadAnnotation", "again"), -EPERM);
}

struct slow { /* a server that does not answer before it is told to */
    volatile bool go, stop;
    unsigned heard;
};

static bool take_slowly(void *ctx, const struct test_request *r)
{
    struct slow *s = ctx;
    __atomic_add_fetch(&s->heard, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&s->go, __ATOMIC_RELAXED))
        usleep(1000);
    test_reply(r->fd, 201, "", "{}", 2);
    return true;
}

struct run {
    struct kube *k;
    struct slow *slow;
};

static void *run_events(void *ctx)
{
    const struct run *r = ctx;
    kube_run_events(r->k, &r->slow->stop);
    return NULL;
}

TEST(events_wait_for_nobody)
{
    struct slow slow = {0};
    CLEANUP(test_server_free) struct test_server *server = NULL;
    CLEANUP(kube_free) struct kube *k = NULL;
    CLEANUP(kube_pod_free) struct kube_pod *pod = NULL;
    struct kube_handlers h = {0};
    struct kube_stats stats = {0};
    pthread_t thread;
    int rc = 0, queued = 0;
    CHECK_EQ(test_server_new(&server, take_slowly, &slow), 0);
    CHECK_EQ(kube_new(&k, &(struct kube_config){.url = test_server_url(server), .node = "node1", .token = "t"}, &h), 0);
    CHECK_EQ(kube_pod_new(&pod, "u1", "shop", "web"), 0);
    struct run run = {k, &slow};
    CHECK_EQ(pthread_create(&thread, NULL, run_events, &run), 0);
    while (!rc && queued < 1000) { /* while the first one is not answered */
        rc = kube_queue_event(k, pod, "BadAnnotation", "what");
        queued += !rc;
    }
    __atomic_store_n(&slow.go, true, __ATOMIC_RELAXED);
    while (stats.events_posted < 10) { /* the rest has to wait longer */
        usleep(1000);
        kube_stats(k, &stats);
    }
    stop_request(&slow.stop);
    pthread_join(thread, NULL);
    CHECK_EQ(rc, -ENOSPC);
    CHECK(queued >= 64 && queued <= 66);
    CHECK_EQ(stats.events_dropped, 1);
    CHECK(__atomic_load_n(&slow.heard, __ATOMIC_RELAXED) <= 11);
}
