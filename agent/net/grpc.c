#include "net/grpc.h"
#include "base/stop.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PREFIX      5 /* of a message: compressed flag, length (big endian) */
#define LOOK_AT_MS  100
#define WINDOW      (1 << 20)
#define METHOD_SIZE 128

struct call {
    struct grpc_reply *out;
    const uint8_t *request;
    size_t len, sent; /* of PREFIX + request */
    uint8_t prefix[PREFIX];
    int32_t stream;
    int http;  /* :status; 0: nothing was answered */
    int error; /* -errno that a callback found */
    bool done;
};

struct grpc {
    int root_fd, fd;
    size_t max;
    nghttp2_session *session;
    struct call *call; /* while one runs */
    char path[];
};

static ssize_t on_send(nghttp2_session *s, const uint8_t *data, size_t n, int flags, void *ctx)
{
    struct grpc *g = ctx;
    ssize_t r = send(g->fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (r >= 0)
        return r;
    /* A server that is gone may have answered before: what it said is read first, and its end then seen there. */
    if (errno == EAGAIN || errno == EINTR || errno == EPIPE || errno == ECONNRESET)
        return NGHTTP2_ERR_WOULDBLOCK;
    g->call->error = -ECONNRESET;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static ssize_t on_recv(nghttp2_session *s, uint8_t *data, size_t n, int flags, void *ctx)
{
    ssize_t r = recv(((struct grpc *)ctx)->fd, data, n, MSG_DONTWAIT);
    if (r > 0)
        return r;
    if (r < 0 && (errno == EAGAIN || errno == EINTR))
        return NGHTTP2_ERR_WOULDBLOCK;
    return NGHTTP2_ERR_EOF;
}

static bool is(const uint8_t *s, size_t n, const char *name)
{
    return n == strlen(name) && !memcmp(s, name, n);
}

static int number(const uint8_t *s, size_t n)
{
    int v = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9' || i >= 4)
            return -1;
        v = v * 10 + (s[i] - '0');
    }
    return n ? v : -1;
}

static int on_header(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name, size_t nname,
                     const uint8_t *value, size_t nvalue, uint8_t flags, void *ctx)
{
    struct call *c = ((struct grpc *)ctx)->call;
    if (frame->hd.stream_id != c->stream)
        return 0;
    if (is(name, nname, "grpc-status"))
        c->out->status = number(value, nvalue);
    else if (is(name, nname, ":status"))
        c->http = number(value, nvalue);
    else if (is(name, nname, "grpc-message"))
        snprintf(c->out->error, sizeof(c->out->error), "%.*s", (int)(nvalue < 200 ? nvalue : 200), value);
    return 0;
}

static int on_data(nghttp2_session *s, uint8_t flags, int32_t stream, const uint8_t *data, size_t n, void *ctx)
{
    struct grpc *g = ctx;
    struct call *c = g->call;
    if (stream != c->stream)
        return 0;
    if (n > g->max + PREFIX || c->out->body.len > g->max + PREFIX - n)
        c->error = -EMSGSIZE;
    else
        buf_add(&c->out->body, data, n);
    if (c->out->body.failed)
        c->error = -ENOMEM;
    return c->error ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_close(nghttp2_session *s, int32_t stream, uint32_t code, void *ctx)
{
    struct call *c = ((struct grpc *)ctx)->call;
    if (stream == c->stream)
        c->done = true;
    return 0;
}

/* The request's body: the prefix, then the message. */
static ssize_t on_read(nghttp2_session *s, int32_t stream, uint8_t *out, size_t room, uint32_t *flags,
                       nghttp2_data_source *source, void *ctx)
{
    struct call *c = source->ptr;
    size_t n = 0;
    while (n < room && c->sent < PREFIX)
        out[n++] = c->prefix[c->sent++];
    size_t left = PREFIX + c->len - c->sent, take = left < room - n ? left : room - n;
    if (take)
        memcpy(out + n, c->request + c->sent - PREFIX, take);
    c->sent += take;
    if (take == left)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)(n + take);
}

static void disconnect(struct grpc *g)
{
    nghttp2_session_del(g->session);
    g->session = NULL;
    if (g->fd >= 0)
        close(TAKE_FD(g->fd));
}

/* Through /proc/self/fd: a socket's path may be longer than sockaddr_un, and below a root that is not ours. */
static int open_socket(const struct grpc *g)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    AUTO_CLOSE int at =
        g->root_fd == AT_FDCWD ? open(g->path, O_PATH | O_CLOEXEC) : fs_open_in_root(g->root_fd, g->path, O_PATH);
    if (at < 0)
        return g->root_fd == AT_FDCWD ? -errno : at;
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d", at);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
        return -errno; /* -EAGAIN: its backlog is full */
    return TAKE_FD(fd);
}

static int start_session(struct grpc *g)
{
    static const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                                      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW}};
    nghttp2_session_callbacks *c;
    if (nghttp2_session_callbacks_new(&c))
        return -ENOMEM;
    nghttp2_session_callbacks_set_send_callback(c, on_send);
    nghttp2_session_callbacks_set_recv_callback(c, on_recv);
    nghttp2_session_callbacks_set_on_header_callback(c, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_close);
    int rc = nghttp2_session_client_new(&g->session, c, g);
    nghttp2_session_callbacks_del(c);
    if (rc || nghttp2_submit_settings(g->session, NGHTTP2_FLAG_NONE, settings, 2) ||
        nghttp2_session_set_local_window_size(g->session, NGHTTP2_FLAG_NONE, 0, WINDOW))
        return -ENOMEM;
    return 0;
}

static int connect_until(struct grpc *g, uint64_t deadline, const volatile bool *stop)
{
    int fd;
    while ((fd = open_socket(g)) == -EAGAIN) {
        if (stop_requested(stop))
            return -ECANCELED;
        if (now_ns() >= deadline)
            return -ETIMEDOUT;
        poll(NULL, 0, 10);
    }
    if (fd < 0)
        return fd;
    g->fd = fd;
    return start_session(g);
}

#define HEADER(k, v)                                                                   \
    {                                                                                  \
        (uint8_t *)(k), (uint8_t *)(v), sizeof(k) - 1, strlen(v), NGHTTP2_NV_FLAG_NONE \
    }

static int submit(struct grpc *g, struct call *c, const char *method)
{
    char path[METHOD_SIZE];
    int n = snprintf(path, sizeof(path), "/%s", method);
    if (n < 0 || (size_t)n >= sizeof(path))
        return -EINVAL;
    const nghttp2_nv headers[] = {
        HEADER(":method", "POST"),
        HEADER(":scheme", "http"),
        HEADER(":path", path),
        HEADER(":authority", "localhost"),
        HEADER("te", "trailers"),
        HEADER("content-type", "application/grpc"),
        HEADER("user-agent", "xprof/" XPROF_VERSION),
    };
    nghttp2_data_provider body = {.source.ptr = c, .read_callback = on_read};
    c->stream = nghttp2_submit_request(g->session, NULL, headers, sizeof(headers) / sizeof(*headers), &body, NULL);
    return c->stream < 0 ? -ECONNRESET : 0;
}

static int session_error(const struct call *c, int rc)
{
    if (c->error)
        return c->error;
    return rc == NGHTTP2_ERR_EOF ? -ECONNRESET : rc == NGHTTP2_ERR_NOMEM ? -ENOMEM : -EPROTO;
}

static int exchange(struct grpc *g, struct call *c, uint64_t deadline, const volatile bool *stop)
{
    while (!c->done) {
        int rc = nghttp2_session_send(g->session);
        if (!rc)
            rc = nghttp2_session_recv(g->session);
        if (!rc && !c->done)
            rc = nghttp2_session_send(g->session);
        if (c->done)
            break;
        if (rc)
            return session_error(c, rc);
        if (!nghttp2_session_want_read(g->session) && !nghttp2_session_want_write(g->session))
            return -EPROTO; /* our side ended it: what it read was not HTTP/2 */
        uint64_t now = now_ns();
        if (stop_requested(stop))
            return -ECANCELED;
        if (now >= deadline)
            return -ETIMEDOUT;
        uint64_t left = (deadline - now) / 1000000 + 1;
        struct pollfd p = {.fd = g->fd, .events = POLLIN};
        if (nghttp2_session_want_write(g->session))
            p.events |= POLLOUT;
        poll(&p, 1, left < LOOK_AT_MS ? (int)left : LOOK_AT_MS);
    }
    return 0;
}

/* What a finished stream says: a status and, when it is 0, exactly one message. */
static int judge(struct grpc_reply *out, const struct call *c)
{
    const uint8_t *p = (const uint8_t *)out->body.data;
    if (!c->http) /* reset, or a goodbye crossed the request */
        return -ECONNRESET;
    if (out->status > 0)
        return -EREMOTEIO;
    if (c->http != 200 || out->status < 0 || out->body.len < PREFIX || p[0])
        return -EPROTO;
    size_t n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (n != out->body.len - PREFIX)
        return -EPROTO;
    out->body.len = n;
    memmove(out->body.data, out->body.data + PREFIX, n);
    return 0;
}

static void explain(const struct grpc *g, struct grpc_reply *out, int rc)
{
    if (!out->error[0])
        snprintf(out->error, sizeof(out->error), "%s: %s", g->path,
                 rc == -EPROTO ? "the response is not gRPC" : strerror(-rc));
    log_clean(out->error);
}

/* One try. *fresh: the connection is new, so a failure says something about the server of now. */
static int try_call(struct grpc *g, const char *method, struct call *c, uint64_t deadline, const volatile bool *stop,
                    bool *fresh)
{
    if (g->session && !nghttp2_session_check_request_allowed(g->session)) /* the server said goodbye */
        disconnect(g);
    *fresh = !g->session;
    g->call = c;
    int rc = *fresh ? connect_until(g, deadline, stop) : 0;
    if (!rc)
        rc = submit(g, c, method);
    if (!rc)
        rc = exchange(g, c, deadline, stop);
    if (!rc)
        rc = judge(c->out, c);
    if (rc && rc != -EREMOTEIO)
        disconnect(g);
    g->call = NULL;
    return rc;
}

int grpc_call(struct grpc *g, const char *method, const void *request, size_t len, unsigned timeout_ms,
              const volatile bool *stop, struct grpc_reply *out)
{
    uint64_t deadline = now_ns() + (uint64_t)timeout_ms * 1000000;
    bool fresh = false;
    int rc = -ECONNRESET;
    *out = (struct grpc_reply){.status = -1};
    if (len > g->max)
        return -EMSGSIZE;
    while (rc == -ECONNRESET && !fresh) {
        struct call c = {.out = out, .request = request, .len = len};
        for (int i = 1; i < PREFIX; i++)
            c.prefix[i] = (uint8_t)(len >> 8 * (PREFIX - 1 - i));
        rc = try_call(g, method, &c, deadline, stop, &fresh);
        if (c.http)
            break; /* it began to answer: this was not an old connection's end */
    }
    if (rc)
        explain(g, out, rc);
    return rc;
}

int grpc_new(struct grpc **out, int root_fd, const char *path, size_t max)
{
    size_t n = strlen(path) + 1;
    struct grpc *g = calloc(1, sizeof(*g) + n);
    if (!g)
        return -ENOMEM;
    *g = (struct grpc){.root_fd = root_fd, .fd = -1, .max = max};
    memcpy(g->path, path, n);
    *out = g;
    return 0;
}

void grpc_free(struct grpc **g)
{
    if (*g)
        disconnect(*g);
    free(TAKE_PTR(*g));
}

void grpc_reply_free(struct grpc_reply *r)
{
    buf_free(&r->body);
}
