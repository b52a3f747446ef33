/* What calls amount to, how long a failure makes us wait, what events and accounts consist of. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/test.h"
#include "kube/event.h"
#include "kube/items.h"
#include "kube/reflect_internal.h"
#include "net/http_server_test.h"
#include <errno.h>
#include <stdlib.h>

static struct outcome outcome(int rc, int status, const char *body, u64 retry_after_ms)
{
    struct http_response a = {.status = status, .retry_after_ms = retry_after_ms};
    buf_str(&a.body, body);
    struct outcome o = outcome_of_call(rc, &a);
    buf_free(&a.body);
    return o;
}

TEST(kube_outcome_of_a_status)
{
    static const struct {
        int status;
        enum kube_error error;
    } rows[] = {{401, KUBE_ERROR_UNAUTHORIZED}, {403, KUBE_ERROR_FORBIDDEN}, {410, KUBE_ERROR_EXPIRED},
                {429, KUBE_ERROR_THROTTLED},    {404, KUBE_ERROR_STATUS},    {499, KUBE_ERROR_STATUS},
                {500, KUBE_ERROR_SERVER},       {503, KUBE_ERROR_SERVER}};
    CHECK(!outcome(0, 200, "", 0).failed);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct outcome o = outcome(0, rows[i].status, "{\"message\":\"because\"}", 0);
        char expected[32];
        snprintf(expected, sizeof(expected), "HTTP %d: because", rows[i].status);
        CHECK(o.failed && o.error == rows[i].error && o.retry_after_ms == 0);
        CHECK_STR(o.text, expected);
    }
    CHECK_STR(outcome(0, 503, "<html>", 0).text, "HTTP 503");
    CHECK_STR(outcome(0, 503, "", 0).text, "HTTP 503");
    CHECK_EQ(outcome(0, 503, "", 7000).retry_after_ms, 7000);
    CHECK_EQ(outcome(0, 503, "", 3600000).retry_after_ms, 300000); /* no server can silence us for an hour */
}

TEST(kube_outcome_of_a_call_without_an_answer)
{
    static const struct {
        int rc;
        enum kube_error error;
    } rows[] = {{-ECONNREFUSED, KUBE_ERROR_CONNECT}, {-EHOSTUNREACH, KUBE_ERROR_CONNECT},
                {-ETIMEDOUT, KUBE_ERROR_TIMEOUT},    {-ECONNRESET, KUBE_ERROR_RESET},
                {-ENOENT, KUBE_ERROR_LOCAL},         {-EACCES, KUBE_ERROR_LOCAL},
                {-EPROTO, KUBE_ERROR_TLS},           {-EMSGSIZE, KUBE_ERROR_TLS}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct outcome o = outcome(rows[i].rc, 0, "", 0);
        CHECK(o.failed && o.error == rows[i].error);
        CHECK_STR(o.text, strerror(-rows[i].rc));
    }
    struct http_response said = {.error = "what it said"};
    CHECK_STR(outcome_of_call(-EPROTO, &said).text, "what it said");
}

/* Between half of it and all of it. */
TEST(kube_pauses_double_up_to_the_longest)
{
    struct reflect r = {.retry_ms = 200};
    const unsigned expected[] = {200, 400, 800, 1000, 1000};
    for (size_t i = 0; i < 5; i++) {
        u64 pause = reflect_next_pause(&r, 1000);
        CHECK(pause >= expected[i] / 2 && pause <= expected[i]);
        CHECK_EQ(r.pause_ms, expected[i]);
    }
    CHECK(reflect_next_pause(&r, 600) <= 600); /* another kind of failure */
    CHECK_EQ(r.pause_ms, 600);
    r.said = 3;
    reflect_note_steady(&r);
    CHECK(r.pause_ms == 0 && r.said == 0);
    volatile bool stop = true;
    u64 began = now_ns();
    reflect_wait(3600000, &stop);
    CHECK(now_ns() - began < 60 * NS_PER_SEC);
}

static bool refuse(void *ctx, const char *object, size_t n)
{
    return ++*(int *)ctx < 2;
}

TEST(kube_items_stop_when_they_are_told_to)
{
    static const char list[] = "{\"items\":[{\"a\":1},{\"a\":2},{\"a\":3}]}";
    struct items t = {.max = 1000};
    int n = 0;
    CHECK(!items_feed(&t, list, sizeof(list) - 1, refuse, &n));
    CHECK_EQ(n, 2);
    items_free(&t);
}

TEST(kube_objects_without_a_name)
{
    static const char *const bad[] = {"{}", "{\"metadata\":{}}", "{\"metadata\":{\"name\":\"\"}}",
                                      "{\"metadata\":{\"name\":7}}"};
    static const char good[] =
        "{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"4\",\"labels\":{\"a\":\"b\",\"env\":\"prod\"},"
        "\"annotations\":{\"c\":\"d\",\"xprof.io/profile\":\"cpu\",\"other.io/profile\":\"cpu\"}}}";
    CLEANUP(selector_free) struct selector *selector = NULL;
    CLEANUP(kube_keys_free) struct kube_keys *keys = NULL;
    char why[64];
    CHECK_EQ(selector_parse(&selector, "env!=test", why, sizeof(why)), 0);
    CHECK_EQ(kube_keys_new(&keys, &(struct policy){.namespaces = selector}), 0);
    keys->number = 3;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CLEANUP(json_free) struct json *j = NULL;
        struct kube_namespace *ns = NULL;
        CHECK_EQ(json_parse(&j, bad[i], strlen(bad[i]), 1000), 0);
        CHECK_EQ(kube_namespace_from_json(&ns, j, keys), -EBADMSG);
        CHECK(!ns);
    }
    CLEANUP(json_free) struct json *j = NULL;
    CLEANUP(kube_namespace_free) struct kube_namespace *ns = NULL;
    CHECK_EQ(json_parse(&j, good, strlen(good), 1000), 0);
    CHECK_EQ(kube_namespace_from_json(&ns, j, keys), 0);
    CHECK_STR(ns->name, "n");
    CHECK(ns->labels.n == 1 && ns->annotations.n == 1 && ns->keys == 3 && !ns->left_out);
    CHECK_STR(kube_pairs_get(&ns->labels, "env"), "prod");
    CHECK_STR(kube_pairs_get(&ns->annotations, "xprof.io/profile"), "cpu");
}

/* Everything that the configuration says, in copies. */
TEST(kube_access_is_copied)
{
    struct access_config a;
    struct kube_config c = {.url = "https://x//",
                            .node = "n",
                            .ca_file = "ca",
                            .token_file = "tf",
                            .token = "t",
                            .cert_file = "cf",
                            .key_file = "kf",
                            .insecure_skip_verify = true};
    CHECK_EQ(access_config_from(&a, &c), 0);
    CHECK(!strcmp(a.url, "https://x") && !strcmp(a.ca_file, "ca") && !strcmp(a.token_file, "tf"));
    CHECK(!strcmp(a.token, "t") && !strcmp(a.cert_file, "cf") && !strcmp(a.key_file, "kf") && a.insecure_skip_verify);
    access_config_free(&a);
    CHECK(!a.url && !a.cert_file && !a.insecure_skip_verify);
}

TEST(kube_access_says_which_file_cannot_be_read)
{
    struct access_config no_token = {.url = (char[]){"http://127.0.0.1:1"}, .token_file = (char[]){"/nowhere/token"}},
                         no_ca = {.url = (char[]){"https://127.0.0.1:1"}, .ca_file = (char[]){"/nowhere/ca"}};
    struct access token = {.config = &no_token}, ca = {.config = &no_ca};
    struct http_request r = {.method = "GET", .url = "/x", .timeout_ms = 10000};
    struct http_response answer;
    CHECK_EQ(access_call(&token, &r, &answer), -ENOENT);
    CHECK_STR(answer.error, "cannot read the token file /nowhere/token: No such file or directory");
    http_response_free(&answer);
    CHECK_EQ(access_call(&ca, &r, &answer), -ENOENT);
    CHECK(strstr(answer.error, "cannot read the CA certificate"));
    http_response_free(&answer);
    access_free(&token);
    access_free(&ca);
}

/* ---- Events ---- */

static bool take(void *ctx, const struct test_request *r)
{
    static const int statuses[] = {201, 401, 403, 500, 200};
    buf_add(ctx, r->body, r->nth ? 0 : r->body_len);
    test_reply(r->fd, statuses[r->nth % 5], "", "{}", 2);
    return true;
}

TEST(kube_events_are_what_kubectl_shows)
{
    static const char *const texts[][2] = {{"apiVersion", "v1"},
                                           {"kind", "Event"},
                                           {"type", "Warning"},
                                           {"reason", "Why"},
                                           {"message", "what"},
                                           {"metadata.namespace", "shop"},
                                           {"metadata.generateName", "xprof-"},
                                           {"involvedObject.kind", "Pod"},
                                           {"involvedObject.apiVersion", "v1"},
                                           {"involvedObject.namespace", "shop"},
                                           {"involvedObject.name", "web"},
                                           {"involvedObject.uid", "u1"},
                                           {"source.component", "xprof"},
                                           {"source.host", "node1"}};
    static const int results[] = {0, -EPERM, -EPERM, -EIO, 0};
    AUTO_BUF struct buf got = {0};
    CLEANUP(test_server_free) struct test_server *server = NULL;
    CLEANUP(kube_pod_free) struct kube_pod *pod = NULL;
    CLEANUP(event_free) struct event *e = NULL;
    CLEANUP(json_free) struct json *j = NULL;
    CHECK_EQ(test_server_new(&server, take, &got), 0);
    struct access_config config = {.url = (char *)(uintptr_t)test_server_url(server)};
    struct access to = {.config = &config};
    CHECK_EQ(kube_pod_new(&pod, "u1", "shop", "web"), 0);
    CHECK_EQ(event_new(&e, "node1", pod, "Why", "what"), 0);
    for (size_t i = 0; i < 5; i++)
        CHECK_EQ(event_post(e, &to), results[i]);
    access_free(&to);
    CHECK_EQ(json_parse(&j, got.data, got.len, 10000), 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        CHECK_STR(json_text(json_at_path(j, texts[i][0])), texts[i][1]);
    const char *first = json_get_text(j, "firstTimestamp"), *last = json_get_text(j, "lastTimestamp");
    CHECK(first && last && strlen(first) == 20 && first[19] == 'Z' && !strcmp(first, last));
    int64_t count = 0;
    CHECK(json_get_int(j, "count", &count));
    CHECK_EQ(count, 1);
}

/* The kubelet takes none. */
TEST(kube_events_need_an_api_server)
{
    CLEANUP(kube_free) struct kube *k = NULL;
    CLEANUP(kube_pod_free) struct kube_pod *pod = NULL;
    struct kube_handlers h = {0};
    struct kube_stats stats;
    CHECK_EQ(kube_new(&k, &(struct kube_config){.source = KUBE_KUBELET, .url = "http://127.0.0.1:1"}, &h), 0);
    CHECK_EQ(kube_pod_new(&pod, "u1", "shop", "web"), 0);
    CHECK_EQ(kube_post_event(k, pod, "Why", "what"), -ENOTSUP);
    CHECK_EQ(kube_queue_event(k, pod, "Why", "what"), -ENOTSUP);
    kube_stats(k, &stats);
    CHECK_EQ(stats.events_dropped, 0);
}
