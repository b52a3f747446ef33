#include "export/remote.h"
#include "export/target_config.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/gz.h"
#include "base/pprof_read.h"
#include "base/test.h"
#include "export/fixture_test.h"
#include "net/http_server_test.h"
#include <errno.h>

static struct verdict judge(int status, const char *type, const char *body, u64 raw_len)
{
    struct verdict v = {0};
    remote_judge(status, type, body, strlen(body), raw_len, &v);
    return v;
}

TEST(remote_what_a_status_means)
{
    static const struct {
        int status;
        enum verdict_kind kind;
        enum export_reason reason;
        bool guilty;
    } rows[] = {
        {200, VERDICT_DONE, 0, false},
        {204, VERDICT_DONE, 0, false},
        {302, VERDICT_BLOCKED, EXPORT_WRONG_URL, false},
        {400, VERDICT_DROP, EXPORT_INVALID, false},
        {401, VERDICT_BLOCKED, EXPORT_UNAUTHORIZED, false},
        {403, VERDICT_BLOCKED, EXPORT_UNAUTHORIZED, false},
        {404, VERDICT_BLOCKED, EXPORT_WRONG_URL, false},
        {408, VERDICT_RETRY, EXPORT_TIMEOUT, true},
        {413, VERDICT_DROP, EXPORT_TOO_LARGE, false},
        {415, VERDICT_DROP, EXPORT_INVALID, false},
        {422, VERDICT_DROP, EXPORT_INVALID, false},
        {429, VERDICT_RETRY, EXPORT_RATE_LIMITED, true},
        {500, VERDICT_RETRY, EXPORT_SERVER_ERROR, true},
        {501, VERDICT_BLOCKED, EXPORT_WRONG_URL, false},
        {503, VERDICT_RETRY, EXPORT_SERVER_ERROR, true},
        {504, VERDICT_RETRY, EXPORT_TIMEOUT, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct verdict v = judge(rows[i].status, "application/json", "{}", 1000);
        CHECK_EQ(v.kind, rows[i].kind);
        CHECK_EQ(v.reason, rows[i].reason);
        CHECK_EQ(v.guilty, rows[i].guilty);
    }
}

TEST(remote_larger_than_the_burst_never_passes)
{
    struct verdict v = judge(429, "application/json", "{}", (2 << 20) + 1);
    CHECK_EQ(v.kind, VERDICT_DROP);
    CHECK_EQ(v.reason, EXPORT_TOO_LARGE);
}

TEST(remote_too_old_says_the_server)
{
    struct verdict v =
        judge(400, "application/json", "{\"code\":\"x\",\"message\":\"profile is outside of ingestion window\"}", 1);
    CHECK_EQ(v.kind, VERDICT_DROP);
    CHECK_EQ(v.reason, EXPORT_TOO_OLD);
}

TEST(remote_a_web_page_is_no_success)
{
    CHECK_EQ(judge(200, "text/html; charset=utf-8", "<html>", 1).kind, VERDICT_BLOCKED);
}

TEST(remote_messages_are_clean_and_bounded)
{
    char body[2000];
    CHECK_STR(judge(401, "text/html", "<html>", 1).message, "401 without a message");
    CHECK_STR(judge(503, "text/plain", "a\r\nb\x80", 1).message, "503 a??b?");
    CHECK_STR(judge(400, "application/json", "{broken", 1).message, "400 {broken");
    memset(body, 'x', sizeof(body));
    body[sizeof(body) - 1] = 0;
    memcpy(body + 249, "\xc3\xa4", 2); /* the cut would fall between its bytes */
    struct verdict v = judge(500, "text/plain", body, 1);
    CHECK(strlen(v.message) <= 255);
    CHECK(strlen(v.message) >= 250);
}

/* ---- What goes over the wire ------------------------------------------------------------------------------------- */

struct seen {
    struct buf head, body;
    const char *headers, *answer;
    size_t len;
    int status;      /* 0: 200 */
    const char *raw; /* said instead */
};

static bool note(void *ctx, const struct test_request *r)
{
    struct seen *s = ctx;
    buf_str(&s->head, r->head);
    buf_add(&s->body, r->body, r->body_len);
    if (s->raw)
        return fs_write_all(r->fd, s->raw, strlen(s->raw)) != 0; /* and that is all */
    test_reply(r->fd, s->status ? s->status : 200, s->headers ? s->headers : "", s->answer, s->len);
    return true;
}

static void seen_free(struct seen *s)
{
    buf_free(&s->head);
    buf_free(&s->body);
}

/* Sends one profile with that exporter and lets go of it. */
static int send_one(const struct exporter *kind, struct export_target *t, struct seen *seen, const struct buf *pprof,
                    struct verdict *v)
{
    struct test_server *server CLEANUP(test_server_free) = NULL;
    AUTO_BUF struct buf record = {0};
    struct export_profile p;
    void *self = NULL;
    char url[80], why[256];
    if (test_server_new(&server, note, seen))
        return -1;
    snprintf(url, sizeof(url), "%s/prefix/", test_server_url(server));
    t->url = t->url ? t->url : url;
    t->name = "t";
    struct export_item item = test_item(pprof);
    int rc = record_encode(&item, &record);
    rc = rc ? rc : record_decode(record.data, record.len, &p);
    rc = rc ? rc : kind->new (&self, t, why, sizeof(why));
    if (rc)
        return rc;
    kind->send(self, &p, NULL, v);
    kind->free(self);
    return 0;
}

/* The bytes are those of a PushRequest, written down by hand. */
TEST(pyroscope_push_request)
{
    struct seen seen CLEANUP(seen_free) = {0};
    AUTO_BUF struct buf pprof = {0}, packed = {0};
    struct verdict v;
    const char *headers[] = {"X-Extra: 1"};
    struct export_label external[] = {{"cluster", "c1"}, {"pod", "not-this"}};
    struct export_target t = {
        .tenant = "team", .headers = headers, .nheaders = 1, .external_labels = external, .nexternal = 2};
    test_pprof(&pprof, "leaf", 7);
    CHECK_EQ(send_one(&exporter_pyroscope, &t, &seen, &pprof, &v), 0);
    CHECK_EQ(v.kind, VERDICT_DONE);
    CHECK_EQ(v.bytes, seen.body.len);
    CHECK(strncmp(seen.head.data, "POST /prefix/push.v1.PusherService/Push HTTP/1.1\r\n", 50) == 0);
    CHECK(strstr(seen.head.data, "\r\nContent-Type: application/proto\r\n"));
    CHECK(strstr(seen.head.data, "\r\nX-Scope-OrgID: team\r\n"));
    CHECK(strstr(seen.head.data, "\r\nX-Extra: 1\r\n"));
    CHECK(!strstr(seen.head.data, "Content-Encoding"));
    CHECK_EQ(gz_compress(pprof.data, pprof.len, 1, &packed), 0);
    static const char pod[] =
        "\x0a\x0d\x0a\x03pod\x12\x06"
        "cart-0";
    static const char cluster[] =
        "\x0a\x0d\x0a\x07"
        "cluster\x12\x02"
        "c1";
    CHECK_EQ(seen.body.data[0], 0x0a);
    CHECK(memmem(seen.body.data, seen.body.len, pod, sizeof(pod) - 1));
    CHECK(memmem(seen.body.data, seen.body.len, cluster, sizeof(cluster) - 1));
    CHECK(!memmem(seen.body.data, seen.body.len, "not-this", 8));
    CHECK(memcmp(seen.body.data + seen.body.len - packed.len, packed.data, packed.len) == 0);
    struct cursor request = cursor_of(seen.body.data, seen.body.len);
    struct pb_field series, field, raw;
    CHECK(pb_next(&request, &series) && series.number == 1 && series.wire == PB_BYTES);
    CHECK(!pb_next(&request, &field));
    for (size_t i = 0; i < 5; i++) /* four labels and the external one */
        CHECK(pb_next(&series.bytes, &field) && field.number == 1 && field.wire == PB_BYTES);
    CHECK(pb_next(&series.bytes, &field) && field.number == 2 && field.wire == PB_BYTES);
    CHECK(pb_next(&field.bytes, &raw) && raw.number == 1 && raw.bytes.len == packed.len);
    CHECK(!pb_next(&field.bytes, &raw) && !pb_next(&series.bytes, &field));
}

/* The struct may have been used before. */
TEST(remote_message_replaces_another_one)
{
    struct verdict v;
    memset(&v, 'x', sizeof(v));
    remote_judge(503, "text/plain", "busy", 4, 1000, &v);
    CHECK_STR(v.message, "503 busy");
}

/* What becomes of a profile when there is no answer, or none that makes sense. */
static struct verdict send_to(const char *url, struct seen *seen)
{
    AUTO_BUF struct buf pprof = {0};
    struct verdict v = {0};
    struct export_target t = {.url = url, .timeout_ms = 20000};
    test_pprof(&pprof, "leaf", 7);
    if (send_one(&exporter_pyroscope, &t, seen, &pprof, &v))
        v.kind = VERDICT_STOPPED;
    return v;
}

TEST(remote_what_no_answer_means)
{
    struct seen garbage CLEANUP(seen_free) = {.raw = "this is not HTTP at all\r\n\r\n"},
                        none CLEANUP(seen_free) = {.raw = ""};
    struct verdict v = send_to("http://127.0.0.1:1", &none);
    CHECK(v.kind == VERDICT_RETRY && v.reason == EXPORT_UNREACHABLE && !v.guilty && v.message[0]);
    v = send_to("http://127.0.0.1:1/a\nb", &none); /* no URL */
    CHECK(v.kind == VERDICT_BLOCKED && v.reason == EXPORT_WRONG_URL && !v.guilty);
    v = send_to(NULL, &garbage);
    CHECK(v.kind == VERDICT_RETRY && v.reason == EXPORT_BAD_ANSWER && !v.guilty);
}

TEST(remote_server_says_when_to_come_back)
{
    struct seen busy CLEANUP(seen_free) = {.status = 429, .headers = "Retry-After: 7\r\n", .answer = "", .len = 0};
    struct verdict v = send_to(NULL, &busy);
    CHECK(v.kind == VERDICT_RETRY && v.reason == EXPORT_RATE_LIMITED && v.guilty);
    CHECK_EQ(v.retry_after_ms, 7000);
    CHECK(v.seconds > 0 && v.bytes == busy.body.len);
}

/* For one label that it does not like, or one too many, a server refuses the whole profile. */
TEST(remote_labels_are_such_as_servers_take)
{
    struct export_target t = {.name = "a", .url = "http://x"}, copy;
    struct export_label external[EXPORT_MAX_LABELS], out[2 * EXPORT_MAX_LABELS];
    struct export_profile p = {.nlabels = 2, .labels = {{"cluster", "own"}, {"pod", "p"}}};
    char names[40][8], why[256];
    external[0] = (struct export_label){"data center-1",
                                        "a\x01"
                                        "b\xff"};
    external[1] = (struct export_label){"cluster", "theirs"};
    for (size_t i = 2; i < 40; i++) {
        snprintf(names[i], sizeof(names[i]), "l%zu", i);
        external[i] = (struct export_label){names[i], "x"};
    }
    t.external_labels = external;
    t.nexternal = 40;
    CHECK_EQ(target_config_copy(&copy, &t, why, sizeof(why)), 0);
    CHECK_EQ(remote_labels(&copy, &p, out), 30);
    CHECK_STR(out[0].value, "own");
    CHECK_STR(out[2].name, "data_center_1");
    CHECK_STR(out[2].value, "a b\xef\xbf\xbd");
    CHECK_STR(out[3].name, "l2");
    target_config_free(&copy);
}

TEST(otlp_request_over_http)
{
    struct seen seen CLEANUP(seen_free) = {0};
    AUTO_BUF struct buf pprof = {0}, plain = {0};
    struct verdict v;
    struct export_target t = {.gzip = true};
    test_pprof(&pprof, "leaf", 7);
    CHECK_EQ(send_one(&exporter_otlp, &t, &seen, &pprof, &v), 0);
    CHECK_EQ(v.kind, VERDICT_DONE);
    CHECK(strncmp(seen.head.data, "POST /prefix/v1development/profiles HTTP/1.1\r\n", 46) == 0);
    CHECK(strstr(seen.head.data, "\r\nContent-Type: application/x-protobuf\r\n"));
    CHECK(strstr(seen.head.data, "\r\nContent-Encoding: gzip\r\n"));
    CHECK_EQ(gz_expand(seen.body.data, seen.body.len, 1 << 20, &plain), 0);
    CHECK(memmem(plain.data, plain.len, "k8s.pod.name", 12));
}

TEST(otlp_partial_success_is_counted)
{
    static const char answer[] = "\x0a\x07\x08\x02\x12\x03why";
    struct seen seen CLEANUP(seen_free) = {.answer = answer, .len = sizeof(answer) - 1};
    AUTO_BUF struct buf pprof = {0};
    struct verdict v;
    struct export_target t = {0};
    test_pprof(&pprof, "leaf", 7);
    CHECK_EQ(send_one(&exporter_otlp, &t, &seen, &pprof, &v), 0);
    CHECK_EQ(v.rejected, 2);
    CHECK_STR(v.message, "why");
}

TEST(otlp_garbage_is_not_sent)
{
    struct seen seen CLEANUP(seen_free) = {0};
    AUTO_BUF struct buf pprof = {0};
    struct verdict v;
    struct export_target t = {0}, packed = {.gzip = true};
    buf_str(&pprof, "this is no profile");
    CHECK_EQ(send_one(&exporter_otlp, &t, &seen, &pprof, &v), 0);
    CHECK_EQ(v.kind, VERDICT_DROP);
    CHECK_EQ(v.reason, EXPORT_MALFORMED);
    CHECK_STR(v.message, "cannot convert the profile to OTLP: not a pprof profile");
    CHECK_EQ(send_one(&exporter_otlp, &packed, &seen, &pprof, &v), 0);
    CHECK_EQ(v.kind, VERDICT_DROP);
    CHECK_EQ(seen.body.len, 0);
}
