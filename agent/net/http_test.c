#include "base/cleanup.h"
#include "base/gz.h"
#include "base/test.h"
#include "net/http.h"
#include "net/http_server_test.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define AUTO_SERVER   __attribute__((cleanup(test_server_free)))
#define AUTO_CLIENT   __attribute__((cleanup(http_client_free)))
#define AUTO_RESPONSE __attribute__((cleanup(http_response_free)))

static void raw(int fd, const char *text)
{
    send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static bool starts(const struct test_request *r, const char *line)
{
    return strncmp(r->head, line, strlen(line)) == 0;
}

static bool answer_gzip(int fd, size_t size)
{
    AUTO_BUF struct buf packed = {0};
    AUTO_FREE char *zeros = calloc(1, size);
    if (zeros)
        gz_compress(memset(zeros, 'z', size), size, 6, &packed);
    test_reply(fd, 200, "Content-Encoding: gzip\r\n", packed.data, packed.len);
    return true;
}

/* So many header lines of 1 KiB each. */
static void answer_lines(int fd, unsigned long n)
{
    AUTO_BUF struct buf lines = {0};
    for (; n; n--)
        buf_printf(&lines, "X: %0*d\r\n", 1019, 0);
    test_reply(fd, 200, lines.data ? lines.data : "", "", 0);
}

static void wait_for_end(const struct test_request *r)
{
    while (!__atomic_load_n(r->stopping, __ATOMIC_RELAXED))
        usleep(1000);
}

/* One path, one kind of answer. */
static bool answer(void *ctx, const struct test_request *r)
{
    if (starts(r, "GET /gzip "))
        return answer_gzip(r->fd, 1000);
    if (starts(r, "GET /bomb "))
        return answer_gzip(r->fd, 4 << 20);
    if (starts(r, "GET /busy "))
        test_reply(r->fd, 429, "Retry-After: 7\r\nContent-Type: text/\x1bplain\r\n", "later", 5);
    else if (starts(r, "GET /moved "))
        test_reply(r->fd, 302, "Location: /ok\r\n", "", 0);
    else if (starts(r, "GET /silent "))
        wait_for_end(r);
    else if (starts(r, "GET /cut "))
        raw(r->fd, "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nonly this");
    else if (starts(r, "GET /nothing "))
        return false;
    else if (starts(r, "GET /bad-gzip "))
        test_reply(r->fd, 200, "Content-Encoding: gzip\r\n", "no gzip", 7);
    else if (starts(r, "GET /lines/"))
        answer_lines(r->fd, strtoul(r->head + strlen("GET /lines/"), NULL, 10));
    else if (starts(r, "GET /soon "))
        test_reply(r->fd, 503, "Retry-After: 0\r\n", "", 0);
    else if (starts(r, "GET /never "))
        test_reply(r->fd, 503, "Retry-After: 1073741824\r\n", "", 0);
    else if (starts(r, "HEAD "))
        raw(r->fd, "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\n");
    else if (starts(r, "GET /garbage "))
        raw(r->fd, "\x16\x03\x01 what is this\r\n\r\n");
    else if (starts(r, "GET /stream "))
        raw(r->fd, "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n");
    else if (starts(r, "GET /endless "))
        raw(r->fd, "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n"), wait_for_end(r);
    else
        test_reply(r->fd, 200, "", r->head, strlen(r->head));
    return starts(r, "GET /ok ") || starts(r, "POST ") || starts(r, "GET /stream ");
}

struct fixture {
    struct test_server *server;
    struct http_client *client;
};

static void fixture_free(struct fixture *f)
{
    http_client_free(&f->client);
    test_server_free(&f->server);
}
#define AUTO_FIXTURE __attribute__((cleanup(fixture_free)))

static int fixture_new(struct fixture *f)
{
    int rc = test_server_new(&f->server, answer, NULL);
    return rc ? rc : http_client_new(&f->client, &(struct http_config){.connect_ms = 2000});
}

static int call(struct fixture *f, struct http_request *r, const char *path, struct http_response *out)
{
    AUTO_BUF struct buf url = {0};
    buf_printf(&url, "%s%s", test_server_url(f->server), path);
    r->method = r->method ? r->method : "GET";
    r->url = url.data;
    r->timeout_ms = r->timeout_ms ? r->timeout_ms : 20000;
    return http_call(f->client, r, out);
}

static int get(struct fixture *f, const char *path, struct http_response *out)
{
    return call(f, &(struct http_request){0}, path, out);
}

TEST(http_request_line_headers_and_body)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response out = {0};
    const char *headers[] = {"X-Scope-OrgID: me", "Content-Type: application/proto"};
    struct http_request r = {.method = "POST", .headers = headers, .nheaders = 2, .body = "hello", .body_len = 5};
    CHECK_EQ(fixture_new(&f), 0);
    CHECK_EQ(call(&f, &r, "/p/a?b", &out), 0);
    CHECK_EQ(out.status, 200);
    CHECK(strncmp(out.body.data, "POST /p/a?b HTTP/1.1\r\n", 22) == 0);
    CHECK(strstr(out.body.data, "X-Scope-OrgID: me\r\n"));
    CHECK(strstr(out.body.data, "Content-Type: application/proto\r\n"));
    CHECK(strstr(out.body.data, "Content-Length: 5\r\n"));
    CHECK(!strstr(out.body.data, "Expect:"));
    CHECK(out.seconds > 0);
}

/* What the server sees of a request, but for the body. */
TEST(http_methods)
{
    static const struct {
        const char *method, *body, *line, *length;
    } cases[] = {
        {"GET", NULL, "GET /ok HTTP/1.1\r\n", NULL},
        {"GET", "ab", "GET /ok HTTP/1.1\r\n", "\r\nContent-Length: 2\r\n"},
        {"POST", NULL, "POST /ok HTTP/1.1\r\n", "\r\nContent-Length: 0\r\n"},
        {"PUT", "abc", "PUT /ok HTTP/1.1\r\n", "\r\nContent-Length: 3\r\n"},
        {"DELETE", NULL, "DELETE /ok HTTP/1.1\r\n", "\r\nContent-Length: 0\r\n"},
    };
    AUTO_FIXTURE struct fixture f = {0};
    CHECK_EQ(fixture_new(&f), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_RESPONSE struct http_response out = {0};
        struct http_request r = {.method = cases[i].method, .body = cases[i].body};
        r.body_len = r.body ? strlen(r.body) : 0;
        CHECK_EQ(call(&f, &r, "/ok", &out), 0);
        CHECK(!strncmp(out.body.data, cases[i].line, strlen(cases[i].line)));
        CHECK(cases[i].length ? !!strstr(out.body.data, cases[i].length) : !strstr(out.body.data, "Content-Length:"));
        CHECK(!strstr(out.body.data, "Content-Type:")); /* nobody said one */
        CHECK(strstr(out.body.data, "\r\nAccept-Encoding: "));
    }
    AUTO_RESPONSE struct http_response head = {0};
    CHECK_EQ(call(&f, &(struct http_request){.method = "HEAD"}, "/ok", &head), 0);
    CHECK(head.status == 200 && !head.body.len); /* and does not wait for one */
}

TEST(http_authentication)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response basic = {0}, bearer = {0};
    CHECK_EQ(fixture_new(&f), 0);
    CHECK_EQ(call(&f, &(struct http_request){.user = "me", .password = "pw"}, "/ok", &basic), 0);
    CHECK(strstr(basic.body.data, "Authorization: Basic bWU6cHc=\r\n"));
    CHECK_EQ(call(&f, &(struct http_request){.bearer = "tok"}, "/ok", &bearer), 0);
    CHECK(strstr(bearer.body.data, "Authorization: Bearer tok\r\n"));
    AUTO_RESPONSE struct http_response nameless = {0}, none = {0};
    CHECK_EQ(call(&f, &(struct http_request){.user = "me"}, "/ok", &nameless), 0);
    CHECK(strstr(nameless.body.data, "Authorization: Basic bWU6\r\n"));
    CHECK_EQ(get(&f, "/ok", &none), 0);
    CHECK(!strstr(none.body.data, "Authorization:"));
}

TEST(http_line_breaks_are_refused)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response out = {0};
    const char *headers[] = {"X-A: b\r\nX-Evil: c"};
    CHECK_EQ(fixture_new(&f), 0);
    CHECK_EQ(call(&f, &(struct http_request){.headers = headers, .nheaders = 1}, "/ok", &out), -EINVAL);
    CHECK_EQ(call(&f, &(struct http_request){.bearer = "a\nb"}, "/ok", &out), -EINVAL);
    CHECK_EQ(get(&f, "/ok\r\nX: y", &out), -EINVAL);
    CHECK(*out.error);
    CHECK_EQ(test_server_connections(f.server), 0);
}

TEST(http_connections_are_kept)
{
    AUTO_FIXTURE struct fixture f = {0};
    CHECK_EQ(fixture_new(&f), 0);
    for (int i = 0; i < 3; i++) {
        AUTO_RESPONSE struct http_response out = {0};
        CHECK_EQ(get(&f, "/ok", &out), 0);
    }
    CHECK_EQ(test_server_connections(f.server), 1);
}

TEST(http_decompresses_within_the_bound)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response out = {0}, bomb = {0};
    CHECK_EQ(fixture_new(&f), 0);
    CHECK_EQ(get(&f, "/gzip", &out), 0);
    CHECK_EQ(out.body.len, 1000);
    CHECK_EQ(out.body.data[999], 'z');
    CHECK_EQ(get(&f, "/bomb", &bomb), -EMSGSIZE);
    CHECK(bomb.body.len <= 1 << 20);
    CHECK_STR(bomb.error, "the response is larger than the limit");
}

TEST(http_max_bytes)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response out = {0}, enough = {0};
    CHECK_EQ(fixture_new(&f), 0);
    CHECK_EQ(call(&f, &(struct http_request){.max_bytes = 999}, "/gzip", &out), -EMSGSIZE);
    CHECK_EQ(call(&f, &(struct http_request){.max_bytes = 1000}, "/gzip", &enough), 0);
}

TEST(http_status_and_retry_after)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response busy = {0}, moved = {0};
    CHECK_EQ(fixture_new(&f), 0);
    CHECK_EQ(get(&f, "/busy", &busy), 0);
    CHECK_EQ(busy.status, 429);
    CHECK_EQ(busy.retry_after_ms, 7000);
    CHECK_STR(busy.content_type, "text/?plain");
    CHECK_STR(busy.body.data, "later");
    AUTO_RESPONSE struct http_response soon = {0}, never = {0};
    CHECK(get(&f, "/soon", &soon) == 0 && get(&f, "/never", &never) == 0);
    CHECK(soon.status == 503 && soon.retry_after_ms == 0 && never.retry_after_ms == 0); /* nobody waits for years */
    CHECK_STR(soon.content_type, "");
    CHECK_EQ(get(&f, "/moved", &moved), 0);
    CHECK_EQ(moved.status, 302); /* not followed */
}

TEST(http_broken_answers)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response cut = {0}, garbage = {0};
    CHECK_EQ(fixture_new(&f), 0);
    CHECK_EQ(get(&f, "/cut", &cut), -ECONNRESET);
    CHECK(*cut.error);
    CHECK_EQ(get(&f, "/garbage", &garbage), -EPROTO);
    AUTO_RESPONSE struct http_response nothing = {0}, bad_gzip = {0};
    CHECK_EQ(get(&f, "/nothing", &nothing), -ECONNRESET);
    CHECK_EQ(get(&f, "/bad-gzip", &bad_gzip), -EPROTO);
}

TEST(http_headers_are_bounded)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response few = {0}, many = {0};
    CHECK_EQ(fixture_new(&f), 0);
    CHECK_EQ(get(&f, "/lines/63", &few), 0); /* and those that all answers have */
    CHECK_EQ(get(&f, "/lines/64", &many), -EMSGSIZE);
    CHECK_STR(many.error, "the response is larger than the limit");
}

TEST(http_urls_that_are_none)
{
    static const struct {
        const char *url;
        int expected;
    } cases[] = {
        {"", -EINVAL}, {"http://[", -EINVAL}, {"ftp://127.0.0.1:1/", -EPROTO}, {"file:///etc/passwd", -EPROTO}};
    AUTO_CLIENT struct http_client *c = NULL;
    CHECK_EQ(http_client_new(&c, &(struct http_config){0}), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_RESPONSE struct http_response out = {0};
        struct http_request r = {.method = "GET", .url = cases[i].url, .timeout_ms = 20000};
        CHECK_EQ(http_call(c, &r, &out), cases[i].expected);
        CHECK(*out.error && !out.body.len && !out.status);
    }
}

/* The proxy is asked for the whole URL; a socket is connected to whatever the URL says. */
TEST(http_proxy_and_socket)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_CLIENT struct http_client *proxied = NULL, *nowhere = NULL;
    AUTO_RESPONSE struct http_response out = {0}, none = {0};
    CHECK_EQ(fixture_new(&f), 0);
    struct http_request r = {.method = "POST", .url = "http://example.invalid/a", .timeout_ms = 20000};
    CHECK_EQ(http_client_new(&proxied, &(struct http_config){.proxy.url = test_server_url(f.server)}), 0);
    CHECK_EQ(http_call(proxied, &r, &out), 0);
    CHECK(!strncmp(out.body.data, "POST http://example.invalid/a HTTP/1.1\r\n", 40));
    CHECK_EQ(http_client_new(&nowhere, &(struct http_config){.unix_socket = "/nowhere/s"}), 0);
    CHECK_EQ(http_call(nowhere, &r, &none), -ECONNREFUSED);
}

TEST(http_limits_of_time)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response whole = {0}, idle = {0};
    CHECK_EQ(fixture_new(&f), 0);
    CHECK_EQ(call(&f, &(struct http_request){.timeout_ms = 50}, "/silent", &whole), -ETIMEDOUT);
    CHECK_EQ(call(&f, &(struct http_request){.idle_ms = 50}, "/silent", &idle), -ETIMEDOUT);
    CHECK_STR(idle.error, "timed out: no data arrived");
}

TEST(http_nobody_there)
{
    AUTO_CLIENT struct http_client *c = NULL;
    AUTO_RESPONSE struct http_response out = {0};
    AUTO_SERVER struct test_server *s = NULL;
    char url[64];
    CHECK_EQ(test_server_new(&s, answer, NULL), 0);
    snprintf(url, sizeof(url), "%s/ok", test_server_url(s));
    test_server_free(&s);
    CHECK_EQ(http_client_new(&c, &(struct http_config){0}), 0);
    CHECK_EQ(http_call(c, &(struct http_request){.method = "GET", .url = url, .timeout_ms = 20000}, &out),
             -ECONNREFUSED);
}

TEST(http_proxies_of_the_environment_are_ignored)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response out = {0};
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    CHECK_EQ(fixture_new(&f), 0);
    int rc = get(&f, "/ok", &out);
    unsetenv("http_proxy");
    CHECK_EQ(rc, 0);
}

TEST(http_proxies_of_the_environment_for_who_wants_them)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_CLIENT struct http_client *c = NULL;
    AUTO_RESPONSE struct http_response proxied = {0}, direct = {0};
    CHECK_EQ(fixture_new(&f), 0);
    setenv("http_proxy", test_server_url(f.server), 1);
    setenv("no_proxy", "127.0.0.0/8,.invalid.test", 1);
    int rc = http_client_new(&c, &(struct http_config){.proxy = {.environment = 1}});
    unsetenv("http_proxy");
    unsetenv("no_proxy");
    CHECK_EQ(rc, 0);
    struct http_request r = {.method = "GET", .url = "http://example.invalid/a", .timeout_ms = 20000};
    CHECK_EQ(http_call(c, &r, &proxied), 0);
    CHECK(!strncmp(proxied.body.data, "GET http://example.invalid/a HTTP/1.1\r\n", 39));
    r.url = "http://a.invalid.test/a";
    CHECK_EQ(http_call(c, &r, &direct), -EHOSTUNREACH); /* a name that nobody has */
}

TEST(http_configurations_are_copied)
{
    char file[] = "/dev/null", socket[] = "/nowhere/s", proxy[] = "http://127.0.0.1:1";
    struct http_client *c = NULL;
    const struct http_config config = {
        .ca_file = file, .cert_file = file, .key_file = file, .unix_socket = socket, .proxy.url = proxy};
    CHECK_EQ(http_client_new(&c, &config), 0);
    http_client_free(&c);
    CHECK(!c);
    http_client_free(&c); /* of nothing */
}

TEST(http_missing_files)
{
    struct http_client *c = NULL;
    CHECK_EQ(http_client_new(&c, &(struct http_config){.ca_file = "/nonexistent/ca"}), -ENOENT);
    CHECK_EQ(http_client_new(&c, &(struct http_config){.cert_file = "/nonexistent/cert"}), -ENOENT);
    CHECK_EQ(http_client_new(&c, &(struct http_config){.key_file = "/nonexistent/key"}), -ENOENT);
    CHECK(!c);
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

struct taken {
    struct buf text;
    bool enough;  /* refuse what comes */
    bool to_stop; /* set by the piece: what http_request.stop points at */
};

static bool take(void *ctx, const char *data, size_t n)
{
    struct taken *t = ctx;
    buf_add(&t->text, data, n);
    t->to_stop = true;
    return !t->enough;
}

TEST(http_stream)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response out = {0};
    struct taken t = {0};
    CHECK_EQ(fixture_new(&f), 0);
    int rc = call(&f, &(struct http_request){.piece = take, .ctx = &t, .max_bytes = 1}, "/stream", &out);
    bool same = t.text.len == 8 && strcmp(t.text.data, "one\ntwo\n") == 0;
    buf_free(&t.text);
    CHECK_EQ(rc, 0);
    CHECK(same);
    CHECK_EQ(out.body.len, 0);
}

TEST(http_stream_of_an_error_is_collected)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response out = {0};
    struct taken t = {0};
    CHECK_EQ(fixture_new(&f), 0);
    CHECK_EQ(call(&f, &(struct http_request){.piece = take, .ctx = &t}, "/busy", &out), 0);
    CHECK_EQ(t.text.len, 0);
    CHECK_STR(out.body.data, "later");
}

TEST(http_stream_ends_when_the_reader_has_enough)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response out = {0};
    struct taken t = {.enough = true};
    CHECK_EQ(fixture_new(&f), 0);
    int rc = call(&f, &(struct http_request){.piece = take, .ctx = &t}, "/endless", &out);
    buf_free(&t.text);
    CHECK_EQ(rc, -ECANCELED);
}

TEST(http_stop_is_seen_in_silence)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response out = {0};
    struct taken t = {0};
    CHECK_EQ(fixture_new(&f), 0);
    int rc = call(&f, &(struct http_request){.piece = take, .ctx = &t, .stop = &t.to_stop}, "/endless", &out);
    buf_free(&t.text);
    CHECK_EQ(rc, -ECANCELED);
    CHECK_STR(out.error, "cancelled");
}

TEST(http_stop_before_it_began)
{
    AUTO_FIXTURE struct fixture f = {0};
    AUTO_RESPONSE struct http_response out = {0};
    const bool stop = true;
    CHECK_EQ(fixture_new(&f), 0);
    CHECK_EQ(call(&f, &(struct http_request){.stop = &stop}, "/ok", &out), -ECANCELED);
    CHECK_STR(out.error, "cancelled");
    CHECK(!out.status && !test_server_connections(f.server));
}
