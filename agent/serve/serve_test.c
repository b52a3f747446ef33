#include "serve/serve.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct site {
    bool healthy, ready, exports, known, fail;
    struct serve *server;
    const char *token_file, *at; /* the address that requests go to; NULL: loopback */
    char reply[4096];            /* to the last request: head and body */
};

static void site_metrics(void *ctx, bool openmetrics, struct buf *out)
{
    struct site *s = ctx;
    buf_str(out, openmetrics ? "open" : "classic");
    out->failed = s->fail;
}

static bool site_healthy(void *ctx, struct buf *why)
{
    struct site *s = ctx;
    buf_str(why, "health\n");
    return s->healthy;
}

static bool site_ready(void *ctx, struct buf *why)
{
    struct site *s = ctx;
    buf_str(why, "readiness\n");
    return s->ready;
}

static bool site_exports(void *ctx, struct buf *why)
{
    struct site *s = ctx;
    buf_str(why, "export\n");
    return s->exports;
}

static bool site_targets(void *ctx, struct buf *json)
{
    struct site *s = ctx;
    buf_str(json, "[]");
    return s->known;
}

static int site_open(struct site *s, const char *address)
{
    char why[200] = "";
    struct serve_config c = {.address = address,
                             .targets_token_file = s->token_file,
                             .handlers = {s, site_metrics, site_healthy, site_ready, site_exports, site_targets}};
    return serve_new(&s->server, &c, why, sizeof(why));
}

static void site_free(struct site *s)
{
    serve_free(&s->server);
}
#define AUTO_SITE CLEANUP(site_free) struct site

static int dial_at(const char *address, unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, address ? address : "127.0.0.1", &to.sin_addr);
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) ? -errno : TAKE_FD(fd);
}

static int dial_port(unsigned port)
{
    return dial_at(NULL, port);
}

/* The status of a request; the whole reply is in s->reply. */
static int request(struct site *s, const char *method, const char *path, const char *headers)
{
    char text[512];
    size_t n = 0;
    ssize_t got = 1;
    AUTO_CLOSE int fd = dial_at(s->at, serve_port(s->server));
    int len =
        snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", method, path, headers);
    if (fd < 0 || send(fd, text, (size_t)len, MSG_NOSIGNAL) != len)
        return -EIO;
    while (got > 0 && n < sizeof(s->reply) - 1) {
        got = recv(fd, s->reply + n, sizeof(s->reply) - 1 - n, 0);
        n += got > 0 ? (size_t)got : 0;
    }
    s->reply[n] = 0;
    int status = -EBADMSG;
    sscanf(s->reply, "HTTP/1.1 %d", &status);
    return status;
}

static const char *body(const struct site *s)
{
    const char *end = strstr(s->reply, "\r\n\r\n");
    return end ? end + 4 : "(none)";
}

TEST(serve_pages)
{
    AUTO_SITE s = {.healthy = true, .known = true};
    CHECK_EQ(site_open(&s, "127.0.0.1:0"), 0);
    CHECK(serve_port(s.server) != 0);
    CHECK_EQ(request(&s, "GET", "/healthz", ""), 200);
    CHECK_STR(body(&s), "health\n");
    CHECK(strstr(s.reply, "Content-Type: text/plain; charset=utf-8\r\n"));
    CHECK_EQ(request(&s, "GET", "/readyz", ""), 503);
    CHECK_STR(body(&s), "readiness\n"); /* the reason is told although it is a failure */
    CHECK_EQ(request(&s, "GET", "/targets", ""), 200);
    CHECK_STR(body(&s), "[]");
    CHECK(strstr(s.reply, "Content-Type: application/json\r\n"));
    CHECK_EQ(request(&s, "GET", "/", ""), 200);
    CHECK(strstr(body(&s), "/metrics\n"));
    s = (struct site){.ready = true, .server = s.server};
    CHECK_EQ(request(&s, "GET", "/healthz", ""), 503);
    CHECK_EQ(request(&s, "GET", "/readyz", ""), 200);
    CHECK_EQ(request(&s, "GET", "/targets", ""), 503);
}

TEST(serve_readiness_and_that_of_exporters)
{
    AUTO_SITE s = {.ready = true};
    CHECK_EQ(site_open(&s, "127.0.0.1:0"), 0);
    CHECK_EQ(request(&s, "GET", "/readyz", ""), 200);
    CHECK_EQ(request(&s, "GET", "/readyz?verbose", ""), 200); /* as for other pages, what is not known is passed over */
    CHECK_EQ(request(&s, "GET", "/readyz?exports", ""), 503);
    CHECK_STR(body(&s), "export\n");
    CHECK_EQ(request(&s, "GET", "/readyz?verbose&exports=1", ""), 503);
    s.exports = true;
    CHECK_EQ(request(&s, "GET", "/readyz?exports", ""), 200);
    s.ready = false;
    CHECK_EQ(request(&s, "GET", "/readyz?exports", ""), 503);
    CHECK_STR(body(&s), "readiness\n"); /* the first thing that is wrong */
}

TEST(serve_metrics_in_the_format_that_is_asked_for)
{
    AUTO_SITE s = {0};
    CHECK_EQ(site_open(&s, "127.0.0.1:0"), 0);
    CHECK_EQ(request(&s, "GET", "/metrics", "Accept: text/html\r\n"), 200);
    CHECK_STR(body(&s), "classic");
    CHECK(strstr(s.reply, "version=0.0.4"));
    CHECK_EQ(request(&s, "GET", "/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n"), 200);
    CHECK_STR(body(&s), "open");
    CHECK(strstr(s.reply, "Content-Type: application/openmetrics-text"));
    CHECK_EQ(request(&s, "GET", "/healthz", "Accept: application/openmetrics-text\r\n"), 503);
    CHECK(strstr(s.reply, "Content-Type: text/plain")); /* only metrics have two formats */
    s.fail = true;
    CHECK_EQ(request(&s, "GET", "/metrics", ""), 500); /* half of the metrics would look like all of them */
    CHECK_STR(body(&s), "");
}

TEST(serve_refuses_what_it_does_not_have)
{
    AUTO_SITE s = {.healthy = true};
    CHECK_EQ(site_open(&s, "[::]:0"), 0); /* reached by IPv4, too, and on nodes without IPv6 */
    CHECK_EQ(request(&s, "GET", "/nowhere", ""), 404);
    CHECK(strstr(body(&s), "/metrics"));
    CHECK_EQ(request(&s, "POST", "/healthz", "Content-Length: 0\r\n"), 405);
    CHECK_EQ(request(&s, "DELETE", "/nowhere", ""), 405);
    CHECK_EQ(request(&s, "HEAD", "/healthz", ""), 200);
    CHECK_STR(body(&s), "");
    CHECK_EQ(request(&s, "GET", "/healthz", ""), 200);
}

/* An address of this machine that is not loopback: who connects to it comes from it. */
static bool own_address(char out[INET_ADDRSTRLEN])
{
    struct ifaddrs *all = NULL;
    bool found = false;
    getifaddrs(&all);
    for (struct ifaddrs *a = all; a && !found; a = a->ifa_next) {
        const struct sockaddr_in *v4 = (const void *)a->ifa_addr;
        if (v4 && v4->sin_family == AF_INET && !(a->ifa_flags & IFF_LOOPBACK))
            found = inet_ntop(AF_INET, &v4->sin_addr, out, INET_ADDRSTRLEN) != NULL;
    }
    freeifaddrs(all);
    return found;
}

TEST(serve_shows_targets_to_this_host_and_to_the_token)
{
    char address[INET_ADDRSTRLEN], path[] = "/tmp/xprof-serve-XXXXXX";
    AUTO_CLOSE int fd = mkstemp(path);
    CHECK(write(fd, "open\n", 5) == 5);
    AUTO_SITE s = {.known = true, .healthy = true, .token_file = path};
    if (!own_address(address))
        SKIP("the machine has loopback only");
    CHECK_EQ(site_open(&s, "[::]:0"), 0);
    CHECK_EQ(request(&s, "GET", "/targets", ""), 200); /* from loopback */
    s.at = address;
    CHECK_EQ(request(&s, "GET", "/healthz", ""), 200);
    CHECK_EQ(request(&s, "GET", "/targets", ""), 403);
    CHECK(strstr(body(&s), "port-forward"));
    CHECK_EQ(request(&s, "HEAD", "/targets", ""), 403);
    CHECK_EQ(request(&s, "GET", "/targets", "Authorization: Bearer shut\r\n"), 401);
    CHECK_EQ(request(&s, "GET", "/targets", "Authorization: Bearer open\r\n"), 200);
    CHECK_STR(body(&s), "[]");
    unlink(path);
}

TEST(serve_a_port_that_is_taken)
{
    AUTO_SITE s = {0};
    char address[32], why[200] = "";
    struct serve *second = NULL;
    CHECK_EQ(site_open(&s, "127.0.0.1:0"), 0);
    unsigned port = serve_port(s.server);
    snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    CHECK_EQ(serve_new(&second, &(struct serve_config){.address = address}, why, sizeof(why)), -EADDRINUSE);
    CHECK(!second && strstr(why, address) && strstr(why, "in use"));
    site_free(&s);
    CHECK_EQ(dial_port(port), -ECONNREFUSED); /* it is closed, */
    CHECK_EQ(site_open(&s, address), 0);      /* and free again */
    site_free(&s);
    CHECK_EQ(site_open(&s, "[::]:0"), 0);
    snprintf(address, sizeof(address), "[::]:%u", serve_port(s.server));
    CHECK_EQ(serve_new(&second, &(struct serve_config){.address = address}, why, sizeof(why)), -EADDRINUSE);
    serve_free(&second); /* of none */
    CHECK_EQ(serve_new(&second, &(struct serve_config){.address = "localhost:1"}, why, sizeof(why)), -EINVAL);
    CHECK(!second && strstr(why, "localhost:1"));
}

TEST(serve_addresses)
{
    static const char *const good[] = {"127.0.0.1:7055", "0.0.0.0:0", "[::]:65535", "[::1]:80"};
    static const char *const bad[] = {
        "",           "127.0.0.1",       ":80",
        "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:8x",
        "::1:80",     "[::1:80",         "[1.2.3.4]:80",
        "1.2.3:80",   "localhost:80",    "1111111111111111111111111111111111111111111111111111111111111111:80"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        char why[200] = "";
        CHECK_EQ(serve_check(good[i], why, sizeof(why)), 0);
        CHECK_STR(why, "");
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char why[200] = "";
        CHECK_EQ(serve_check(bad[i], why, sizeof(why)), -EINVAL);
        CHECK(why[0] && !strncmp(why, bad[i], strlen(bad[i])));
    }
}

/* Requests that never end, and many of them: the next one is answered at once all the same. */
TEST(serve_answers_beside_requests_that_do_not_end)
{
    AUTO_SITE s = {.healthy = true};
    int fds[300], n = 0;
    CHECK_EQ(site_open(&s, "127.0.0.1:0"), 0);
    for (; n < 300; n++) {
        fds[n] = dial_port(serve_port(s.server));
        if (fds[n] < 0 || send(fds[n], "GET /healthz HTTP/1.1\r\nHos", 26, MSG_NOSIGNAL) < 0)
            break;
        if (n % 50 == 0)
            CHECK_EQ(request(&s, "GET", "/healthz", ""), 200);
    }
    CHECK_EQ(request(&s, "GET", "/healthz", ""), 200);
    while (n-- > 0)
        close(fds[n]);
}
