#include "serve/serve.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/connections.h"
#include "serve/guard.h"
#include "serve/httpd_library.h"
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define MAX_SOCKETS  (2 * CONNECTIONS_MAX) /* those that are about to be closed included */
#define IDLE_SECONDS 10
#define MEMORY_LIMIT (16u << 10) /* of a connection: request line and headers */

struct serve {
    struct httpd_library httpd;
    struct MHD_Daemon *daemon;
    struct serve_handlers handlers;
    const char *targets_token_file;
    struct connections connections; /* of the server's thread */
};

struct page {
    const char *path, *type;
    unsigned (*make)(struct serve *s, bool openmetrics, struct buf *out); /* the status */
    const char *query; /* only for requests with this argument; NULL: for all others */
};

static unsigned metrics(struct serve *s, bool openmetrics, struct buf *out)
{
    s->handlers.metrics(s->handlers.ctx, openmetrics, out);
    return MHD_HTTP_OK;
}

static unsigned healthz(struct serve *s, bool openmetrics, struct buf *out)
{
    return s->handlers.healthy(s->handlers.ctx, out) ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static unsigned readyz(struct serve *s, bool openmetrics, struct buf *out)
{
    return s->handlers.ready(s->handlers.ctx, out) ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

/* What is ready, but gets rid of nothing, is not. */
static unsigned readyz_exports(struct serve *s, bool openmetrics, struct buf *out)
{
    if (!s->handlers.ready(s->handlers.ctx, out))
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    out->len = 0;
    return s->handlers.exports(s->handlers.ctx, out) ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static unsigned targets(struct serve *s, bool openmetrics, struct buf *out)
{
    return s->handlers.targets(s->handlers.ctx, out) ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static unsigned overview(struct serve *s, bool openmetrics, struct buf *out)
{
    buf_str(out, "xprof " XPROF_VERSION "\n/metrics\n/healthz\n/readyz\n/readyz?exports\n/targets\n");
    return MHD_HTTP_OK;
}

#define TEXT        "text/plain; charset=utf-8"
#define PROMETHEUS  "text/plain; version=0.0.4; charset=utf-8"
#define OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

static const struct page pages[] = {
    {"/", TEXT, overview, NULL},       {"/metrics", PROMETHEUS, metrics, NULL},
    {"/healthz", TEXT, healthz, NULL}, {"/readyz", TEXT, readyz_exports, "exports"},
    {"/readyz", TEXT, readyz, NULL},   {"/targets", "application/json", targets, NULL},
};

static enum MHD_Result answer(const struct serve *s, struct MHD_Connection *c, unsigned status, const char *type,
                              struct buf *body)
{
    size_t len = body->failed ? 0 : body->len;
    if (body->failed)
        status = MHD_HTTP_INTERNAL_SERVER_ERROR;
    struct MHD_Response *r = s->httpd.create_response_from_buffer(len, len ? body->data : (char *)"",
                                                                  len ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);
    if (!r)
        return MHD_NO;
    s->httpd.add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    enum MHD_Result rc = s->httpd.queue_response(c, status, r);
    s->httpd.destroy_response(r);
    return rc;
}

/* Whether the connection may have the page; if not, `body` says what would help. */
static unsigned admit(struct serve *s, struct MHD_Connection *c, const struct page *p, struct buf *body)
{
    if (p->make != targets)
        return MHD_HTTP_OK;
    switch (guard_request(s->httpd.get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr,
                          s->httpd.lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION),
                          s->targets_token_file)) {
    case GUARD_PASS:
        return MHD_HTTP_OK;
    case GUARD_NO_TOKEN:
        buf_str(body,
                "/targets is for requests from the agent's own host (kubectl port-forward), or with the bearer "
                "token of --targets-token-file\n");
        return MHD_HTTP_FORBIDDEN;
    case GUARD_WRONG_TOKEN:
        break;
    }
    buf_str(body, "not the token of --targets-token-file\n");
    return MHD_HTTP_UNAUTHORIZED;
}

static const struct page *page_of(const struct serve *s, struct MHD_Connection *c, const char *url)
{
    for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
        const char *q = pages[i].query;
        if (!strcmp(url, pages[i].path) &&
            (!q || s->httpd.lookup_connection_value_n(c, MHD_GET_ARGUMENT_KIND, q, strlen(q), NULL, NULL) == MHD_YES))
            return &pages[i];
    }
    return NULL;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_size, void **request)
{
    struct serve *s = ctx;
    AUTO_BUF struct buf body = {0};
    bool get = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
    if (!*request && get) { /* headers only so far: the library calls again */
        *request = s;
        return MHD_YES;
    }
    if (!get) {
        buf_str(&body, "only GET\n");
        return answer(s, c, MHD_HTTP_METHOD_NOT_ALLOWED, TEXT, &body);
    }
    const struct page *p = page_of(s, c, url);
    if (!p) {
        buf_str(&body, "available pages: /metrics, /healthz, /readyz, /readyz?exports and /targets\n");
        return answer(s, c, MHD_HTTP_NOT_FOUND, TEXT, &body);
    }
    const char *accept = s->httpd.lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    bool open = p->make == metrics && accept && strstr(accept, "application/openmetrics-text");
    unsigned status = admit(s, c, p, &body);
    if (status != MHD_HTTP_OK)
        return answer(s, c, status, TEXT, &body);
    status = p->make(s, open, &body);
    return answer(s, c, status, open ? OPENMETRICS : p->type, &body);
}

/* ---- Connections ---- */

static int socket_of(const struct serve *s, struct MHD_Connection *c)
{
    return s->httpd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **own, enum MHD_ConnectionNotificationCode what)
{
    struct serve *s = ctx;
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        connections_begin(&s->connections, socket_of(s, c),
                          s->httpd.get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr, now_ns());
    else
        connections_end(&s->connections, socket_of(s, c));
}

static void on_answered(void *ctx, struct MHD_Connection *c, void **request, enum MHD_RequestTerminationCode how)
{
    struct serve *s = ctx;
    connections_answered(&s->connections, socket_of(s, c), now_ns());
}

/* ---- Addresses ---- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* "HOST:PORT" with a numeric host, in brackets when it is IPv6. */
static int parse_address(const char *text, union address *out)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    char *end;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (!n || n >= sizeof(host) || !colon[1] || *end || port > 65535)
        return -EINVAL;
    memcpy(host, text, n);
    host[n] = 0;
    memset(out, 0, sizeof(*out));
    if (host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = 0;
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host + 1, &out->v6.sin6_addr) == 1 ? 0 : -EINVAL;
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &out->v4.sin_addr) == 1 ? 0 : -EINVAL;
}

/* [::] means any address, also on a node whose kernel has no IPv6. */
static void without_ipv6(union address *a)
{
    if (a->any.sa_family != AF_INET6 || !IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr))
        return;
    AUTO_CLOSE int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 || errno != EAFNOSUPPORT)
        return;
    in_port_t port = a->v6.sin6_port;
    memset(a, 0, sizeof(*a));
    a->v4.sin_family = AF_INET;
    a->v4.sin_port = port;
}

static int take_address(const char *text, union address *out, char *why, size_t len)
{
    int rc = parse_address(text, out);
    if (rc)
        snprintf(why, len, "%s is not an ADDRESS:PORT (such as 127.0.0.1:7055 or [::]:7055)", text);
    return rc;
}

int serve_check(const char *address, char *why, size_t len)
{
    union address a;
    return take_address(address, &a, why, len);
}

int serve_new(struct serve **out, const struct serve_config *config, char *why, size_t len)
{
    union address a;
    int rc = take_address(config->address, &a, why, len);
    if (rc)
        return rc;
    without_ipv6(&a);
    struct serve *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    rc = httpd_library_load(&s->httpd);
    if (rc) {
        snprintf(why, len, "cannot serve %s: libmicrohttpd cannot be loaded (%s)", config->address, strerror(-rc));
        free(s);
        return rc;
    }
    s->handlers = config->handlers;
    s->targets_token_file = config->targets_token_file;
    unsigned flags =
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | (a.any.sa_family == AF_INET6 ? MHD_USE_DUAL_STACK : 0);
    errno = 0;
    s->daemon = s->httpd.start_daemon(
        flags, 0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, &a.any, MHD_OPTION_CONNECTION_LIMIT, MAX_SOCKETS,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_LIMIT,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_NOTIFY_COMPLETED, on_answered, s, MHD_OPTION_END);
    if (!s->daemon) {
        int err = errno ? errno : EADDRINUSE;
        snprintf(why, len, "cannot listen on %s: %s", config->address, strerror(err));
        free(s);
        return -err;
    }
    *out = s;
    return 0;
}

void serve_free(struct serve **s)
{
    if (!*s)
        return;
    (*s)->httpd.stop_daemon((*s)->daemon);
    free(TAKE_PTR(*s));
}

unsigned serve_port(const struct serve *s)
{
    const union MHD_DaemonInfo *info = s->httpd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}
