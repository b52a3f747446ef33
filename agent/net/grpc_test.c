#include "net/grpc.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A server that says prepared bytes: for each connection, it waits for a request's end (or not) and writes its part. */
struct server {
    char dir[32], path[64];
    int listener;
    struct buf says[3]; /* one per connection */
    struct buf again;   /* the answer to the first connection's second request */
    struct buf expects; /* the request, with its prefix; nothing is said to another one. Empty: to any */
    int connections, accepted;
    bool mute; /* it accepts, and never answers */
    int done[2];
    pthread_t thread;
};

enum { DATA, HEADERS, RST = 3, SETTINGS, GOAWAY = 7 };
enum { END_STREAM = 1, END_HEADERS = 4 };

static void frame(struct buf *b, int type, int flags, uint32_t stream, const void *p, size_t n)
{
    const uint8_t head[9] = {(uint8_t)(n >> 16),     (uint8_t)(n >> 8), (uint8_t)n, (uint8_t)type, (uint8_t)flags, 0, 0,
                             (uint8_t)(stream >> 8), (uint8_t)stream};
    buf_add(b, head, sizeof(head));
    buf_add(b, p, n);
}

/* HPACK: a literal field without indexing (RFC 7541, 6.2.2). */
static void field(struct buf *b, const char *name, const char *value)
{
    buf_char(b, 0);
    buf_char(b, (char)strlen(name));
    buf_str(b, name);
    buf_char(b, (char)strlen(value));
    buf_str(b, value);
}

static void headers(struct buf *b, uint32_t stream, int flags, const char *http, const char *status)
{
    AUTO_BUF struct buf fields = {0};
    if (http)
        field(&fields, ":status", http);
    if (status)
        field(&fields, "grpc-status", status);
    frame(b, HEADERS, END_HEADERS | flags, stream, fields.data, fields.len);
}

static void message(struct buf *b, uint32_t stream, char compressed, const char *text, size_t n)
{
    AUTO_BUF struct buf body = {0};
    const char prefix[5] = {compressed, 0, 0, (char)(n >> 8), (char)n};
    buf_add(&body, prefix, 5);
    buf_add(&body, text, n);
    frame(b, DATA, 0, stream, body.data, body.len);
}

static void ok(struct buf *b, uint32_t stream, const char *text)
{
    headers(b, stream, 0, "200", NULL);
    message(b, stream, 0, text, strlen(text));
    headers(b, stream, END_STREAM, NULL, "0");
}

/* The request whose frames begin at `at`, into `body`; whether all of it is there: a DATA frame that ends its stream.
 */
static bool is_whole(const struct buf *in, size_t at, struct buf *body)
{
    const unsigned char *bytes = (const unsigned char *)in->data;
    body->len = 0;
    while (at + 9 <= in->len) {
        size_t len = (size_t)bytes[at] << 16 | (size_t)bytes[at + 1] << 8 | bytes[at + 2];
        if (at + 9 + len > in->len)
            return false;
        if (bytes[at + 3] == DATA)
            buf_add(body, bytes + at + 9, len);
        if (bytes[at + 3] == DATA && (bytes[at + 4] & END_STREAM))
            return true;
        at += 9 + len;
    }
    return false;
}

/* An answer that comes before the question would be none. The first one follows the preface, of 24 bytes. */
static bool hear(const struct server *s, int fd, size_t preface)
{
    AUTO_BUF struct buf in = {0}, body = {0};
    char piece[4096];
    while (!is_whole(&in, preface, &body)) {
        ssize_t r = recv(fd, piece, sizeof(piece), 0);
        if (r <= 0)
            return false;
        buf_add(&in, piece, (size_t)r);
    }
    return !s->expects.len || (body.len == s->expects.len && !memcmp(body.data, s->expects.data, body.len));
}

static void serve(struct server *s, int fd)
{
    char bytes[4096];
    const struct buf *say = &s->says[s->accepted++];
    if (hear(s, fd, 24) && !s->mute && say->len)
        send(fd, say->data, say->len, MSG_NOSIGNAL);
    if (s->again.len && hear(s, fd, 0))
        send(fd, s->again.data, s->again.len, MSG_NOSIGNAL);
    struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = s->done[0], .events = POLLIN}};
    bool hold = s->mute || s->accepted == s->connections; /* the others are closed behind what was said */
    while (hold && poll(p, 2, -1) > 0 && !p[1].revents)
        hold = recv(fd, bytes, sizeof(bytes), 0) > 0;
}

static void *run(void *ctx)
{
    struct server *s = ctx;
    while (s->accepted < s->connections) {
        struct pollfd p[2] = {{.fd = s->listener, .events = POLLIN}, {.fd = s->done[0], .events = POLLIN}};
        if (poll(p, 2, -1) < 0 || p[1].revents)
            break;
        AUTO_CLOSE int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            serve(s, fd);
    }
    return NULL;
}

static int server_start(struct server *s, int connections)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    s->connections = connections;
    snprintf(s->dir, sizeof(s->dir), "/tmp/xprof-grpc-XXXXXX");
    if (!mkdtemp(s->dir) || pipe2(s->done, O_CLOEXEC))
        return -1;
    snprintf(s->path, sizeof(s->path), "%s/s", s->dir);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", s->path);
    frame(&s->says[0], SETTINGS, 0, 0, "", 0);
    frame(&s->says[1], SETTINGS, 0, 0, "", 0);
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(s->listener, (struct sockaddr *)&at, sizeof(at)) || listen(s->listener, 4))
        return -1;
    return pthread_create(&s->thread, NULL, run, s);
}

static void server_stop(struct server *s)
{
    close(s->done[1]);
    pthread_join(s->thread, NULL);
    close(s->done[0]);
    close(s->listener);
    unlink(s->path);
    rmdir(s->dir);
    for (int i = 0; i < 3; i++)
        buf_free(&s->says[i]);
    buf_free(&s->expects);
    buf_free(&s->again);
}

/* One call of a client of its own, against what the server was told to say. */
static int call_once(struct server *s, size_t max, struct grpc_reply *r)
{
    CLEANUP(grpc_free) struct grpc *g = NULL;
    if (grpc_new(&g, AT_FDCWD, s->path, max))
        return -1;
    return grpc_call(g, "a.B/C", "question", 8, 20000, NULL, r);
}

#define SERVER(n)                                            \
    CLEANUP(server_stop) struct server s = {.listener = -1}; \
    CLEANUP(grpc_reply_free) struct grpc_reply r = {0};      \
    CHECK_EQ(server_start(&s, n), 0)

TEST(grpc_answer)
{
    SERVER(1);
    ok(&s.says[0], 1, "hello");
    CHECK_EQ(call_once(&s, 100, &r), 0);
    CHECK(r.status == 0 && r.body.len == 5 && !memcmp(r.body.data, "hello", 5));
}

/* Larger than a frame of HTTP/2: it is sent in several. */
TEST(grpc_request_is_sent_whole)
{
    static char text[40000];
    CLEANUP(grpc_free) struct grpc *g = NULL;
    SERVER(1);
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 7 + i / 256);
    buf_add(&s.expects, "\0\0\0\x9c\x40", 5);
    buf_add(&s.expects, text, sizeof(text));
    ok(&s.says[0], 1, "");
    CHECK_EQ(grpc_new(&g, AT_FDCWD, s.path, sizeof(text)), 0);
    CHECK_EQ(grpc_call(g, "a.B/C", text, sizeof(text), 20000, NULL, &r), 0);
    CHECK(r.status == 0 && !r.body.len);
    grpc_reply_free(&r);
    CHECK_EQ(grpc_call(g, "a.B/C", text, sizeof(text) + 1, 20000, NULL, &r), -EMSGSIZE);
    memset(text, 'x', 300);
    text[300] = 0;
    CHECK_EQ(grpc_call(g, text, "", 0, 20000, NULL, &r), -EINVAL); /* a method of no name */
}

TEST(grpc_below_a_root)
{
    CLEANUP(grpc_free) struct grpc *g = NULL, *none = NULL;
    SERVER(1);
    AUTO_CLOSE int root = open(s.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ok(&s.says[0], 1, "x");
    CHECK_EQ(grpc_new(&g, root, "/s", 100), 0);
    CHECK_EQ(grpc_call(g, "a.B/C", "", 0, 20000, NULL, &r), 0);
    CHECK_EQ(grpc_new(&none, root, "/../other", 100), 0);
    grpc_reply_free(&r);
    CHECK_EQ(grpc_call(none, "a.B/C", "", 0, 20000, NULL, &r), -ENOENT);
}

/* Headers of a stream that ends with them: its status, and its message. */
static void trailers_with(struct buf *b, const char *status, const char *message)
{
    AUTO_BUF struct buf fields = {0};
    field(&fields, ":status", "200");
    field(&fields, "grpc-status", status);
    field(&fields, "grpc-message", message);
    frame(b, HEADERS, END_HEADERS | END_STREAM, 1, fields.data, fields.len);
}

TEST(grpc_errors_have_a_line)
{
    SERVER(1);
    trailers_with(&s.says[0], "1234", "no\xc2\x9b such thing");
    CHECK_EQ(call_once(&s, 100, &r), -EREMOTEIO);
    CHECK_EQ(r.status, 1234);
    CHECK_STR(r.error, "no?\x9b such thing");
}

TEST(grpc_status_that_is_no_number)
{
    static const char *const bad[] = {"", "12345", "1x", "-1", " 1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        SERVER(1);
        trailers_with(&s.says[0], bad[i], "why");
        CHECK_EQ(call_once(&s, 100, &r), -EPROTO);
        CHECK_EQ(r.status, -1);
    }
}

/* A message that is cut, or longer than its prefix says, and none at all. */
TEST(grpc_messages_that_are_malformed)
{
    static const struct {
        const char *body;
        size_t len;
    } cases[] = {{"\0\0\0\0\3ab", 7}, {"\0\0\0\0\1ab", 7}, {"\0\0\0\0", 4},    {"", 0},
                 {"\0\1\0\0\2ab", 7}, {"\0\0\1\0\2ab", 7}, {"\0\0\0\1\2ab", 7}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        SERVER(1);
        headers(&s.says[0], 1, 0, "200", NULL);
        frame(&s.says[0], DATA, 0, 1, cases[i].body, cases[i].len);
        headers(&s.says[0], 1, END_STREAM, NULL, "0");
        CHECK_EQ(call_once(&s, 100, &r), -EPROTO);
        CHECK(strstr(r.error, "the response is not gRPC"));
    }
}

/* Up to the limit, in as many frames as the server likes. */
TEST(grpc_answers_in_pieces)
{
    for (size_t max = 9; max <= 10; max++) {
        SERVER(1);
        headers(&s.says[0], 1, 0, "200", NULL);
        frame(&s.says[0], DATA, 0, 1, "\0\0\0", 3);
        frame(&s.says[0], DATA, 0, 1,
              "\0\xa"
              "01234",
              7);
        frame(&s.says[0], DATA, 0, 1, "56789", 5);
        headers(&s.says[0], 1, END_STREAM, NULL, "0");
        CHECK_EQ(call_once(&s, max, &r), max < 10 ? -EMSGSIZE : 0);
        CHECK(max < 10 || (r.body.len == 10 && !memcmp(r.body.data, "0123456789", 10)));
    }
}

TEST(grpc_status_in_headers_only)
{
    SERVER(1);
    headers(&s.says[0], 1, END_STREAM, "200", "12");
    CHECK_EQ(call_once(&s, 100, &r), -EREMOTEIO);
    CHECK_EQ(r.status, GRPC_UNIMPLEMENTED);
}

TEST(grpc_without_status_is_an_error)
{
    SERVER(1);
    headers(&s.says[0], 1, 0, "200", NULL);
    message(&s.says[0], 1, 0, "x", 1);
    frame(&s.says[0], DATA, END_STREAM, 1, "", 0);
    CHECK_EQ(call_once(&s, 100, &r), -EPROTO);
    CHECK_EQ(r.status, -1);
}

TEST(grpc_compressed_is_refused)
{
    SERVER(1);
    headers(&s.says[0], 1, 0, "200", NULL);
    message(&s.says[0], 1, 1, "x", 1);
    headers(&s.says[0], 1, END_STREAM, NULL, "0");
    CHECK_EQ(call_once(&s, 100, &r), -EPROTO);
}

TEST(grpc_one_message_only)
{
    SERVER(1);
    headers(&s.says[0], 1, 0, "200", NULL);
    message(&s.says[0], 1, 0, "x", 1);
    message(&s.says[0], 1, 0, "y", 1);
    headers(&s.says[0], 1, END_STREAM, NULL, "0");
    CHECK_EQ(call_once(&s, 100, &r), -EPROTO);
}

TEST(grpc_large_answer)
{
    SERVER(1);
    ok(&s.says[0], 1, "a message of more than ten bytes");
    CHECK_EQ(call_once(&s, 10, &r), -EMSGSIZE);
}

TEST(grpc_http_error)
{
    SERVER(1);
    headers(&s.says[0], 1, END_STREAM, "404", NULL);
    CHECK_EQ(call_once(&s, 100, &r), -EPROTO);
}

TEST(grpc_reset)
{
    SERVER(1);
    frame(&s.says[0], RST, 0, 1, "\0\0\0\7", 4);
    CHECK_EQ(call_once(&s, 100, &r), -ECONNRESET);
}

TEST(grpc_something_else_listens)
{
    SERVER(1);
    buf_str(&s.says[0], "HTTP/1.1 400 Bad Request\r\n\r\n");
    CHECK_EQ(call_once(&s, 100, &r), -EPROTO);
    CHECK(strstr(r.error, s.path));
}

TEST(grpc_mute_server_and_stop)
{
    CLEANUP(grpc_free) struct grpc *g = NULL;
    volatile bool stop = true;
    SERVER(2);
    s.mute = true;
    CHECK_EQ(grpc_new(&g, AT_FDCWD, s.path, 100), 0);
    CHECK_EQ(grpc_call(g, "a.B/C", "", 0, 30, NULL, &r), -ETIMEDOUT);
    CHECK_EQ(grpc_call(g, "a.B/C", "", 0, 1u << 30, &stop, &r), -ECANCELED);
}

/* The connection is kept, the server closes it behind the first answer: the second call does not notice. */
static void restart_between(bool goodbye)
{
    CLEANUP(grpc_free) struct grpc *g = NULL;
    SERVER(2);
    ok(&s.says[0], 1, "one");
    if (goodbye)
        frame(&s.says[0], GOAWAY, 0, 0, "\0\0\0\1\0\0\0\0", 8);
    ok(&s.says[1], 1, "two");
    CHECK_EQ(grpc_new(&g, AT_FDCWD, s.path, 100), 0);
    CHECK_EQ(grpc_call(g, "a.B/C", "", 0, 20000, NULL, &r), 0);
    grpc_reply_free(&r);
    CHECK_EQ(grpc_call(g, "a.B/C", "", 0, 20000, NULL, &r), 0);
    CHECK(r.body.len == 3 && !memcmp(r.body.data, "two", 3));
}

TEST(grpc_reconnects)
{
    restart_between(false);
    restart_between(true);
}

TEST(grpc_two_calls_on_one_connection)
{
    CLEANUP(grpc_free) struct grpc *g = NULL;
    SERVER(1);
    ok(&s.says[0], 1, "one");
    CHECK_EQ(grpc_new(&g, AT_FDCWD, s.path, 100), 0);
    CHECK_EQ(grpc_call(g, "a.B/C", "", 0, 20000, NULL, &r), 0);
    grpc_reply_free(&r);
    CHECK_EQ(grpc_call(g, "a.B/C", "", 0, 30, NULL, &r),
             -ETIMEDOUT); /* it has no second answer, and no second accept */
    CHECK_EQ(s.accepted, 1);
}

/* Also behind a status that is not 0, which says nothing about the connection. */
TEST(grpc_connections_are_kept)
{
    for (int status = 0; status < 2; status++) {
        CLEANUP(grpc_free) struct grpc *g = NULL;
        SERVER(1);
        ok(&s.again, 3, "two");
        if (status)
            headers(&s.says[0], 1, END_STREAM, "200", "5");
        else
            ok(&s.says[0], 1, "one");
        CHECK_EQ(grpc_new(&g, AT_FDCWD, s.path, 100), 0);
        CHECK_EQ(grpc_call(g, "a.B/C", "", 0, 20000, NULL, &r), status ? -EREMOTEIO : 0);
        grpc_reply_free(&r);
        CHECK_EQ(grpc_call(g, "a.B/C", "", 0, 20000, NULL, &r), 0);
        CHECK(r.body.len == 3 && !memcmp(r.body.data, "two", 3));
    }
}

TEST(grpc_nobody_there)
{
    CLEANUP(grpc_free) struct grpc *g = NULL;
    CLEANUP(grpc_reply_free) struct grpc_reply r = {0};
    CHECK_EQ(grpc_new(&g, AT_FDCWD, "/nowhere/x.sock", 100), 0);
    CHECK_EQ(grpc_call(g, "a.B/C", "", 0, 20000, NULL, &r), -ENOENT);
    CHECK_STR(r.error, "/nowhere/x.sock: No such file or directory");
}

TEST(grpc_nobody_listens)
{
    CLEANUP(grpc_free) struct grpc *g = NULL;
    CLEANUP(grpc_reply_free) struct grpc_reply r = {0};
    CHECK_EQ(grpc_new(&g, AT_FDCWD, "/dev/null", 100), 0);
    CHECK_EQ(grpc_call(g, "a.B/C", "", 0, 20000, NULL, &r), -ECONNREFUSED);
    grpc_free(&g);
    CHECK(!g);
}

/* The server is busy: as many wait for it as may. */
TEST(grpc_backlog_is_full)
{
    char dir[] = "/tmp/xprof-grpc-XXXXXX";
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int waiting[4] = {-1, -1, -1, -1};
    const volatile bool stop = true;
    struct grpc *g = NULL;
    struct grpc_reply late = {0}, stopped = {0};
    CHECK(mkdtemp(dir));
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", dir);
    AUTO_CLOSE int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 0);
    for (int i = 0; i < 4 && !rc; i++) {
        waiting[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (connect(waiting[i], (struct sockaddr *)&at, sizeof(at)))
            break;
    }
    rc = rc || grpc_new(&g, AT_FDCWD, at.sun_path, 100);
    int timeout = rc ? rc : grpc_call(g, "a.B/C", "", 0, 30, NULL, &late);
    int cancelled = rc ? rc : grpc_call(g, "a.B/C", "", 0, 20000, &stop, &stopped);
    for (int i = 0; i < 4; i++)
        if (waiting[i] >= 0)
            close(waiting[i]);
    grpc_free(&g);
    unlink(at.sun_path);
    rmdir(dir);
    CHECK_EQ(timeout, -ETIMEDOUT);
    CHECK_EQ(cancelled, -ECANCELED);
    CHECK(strstr(late.error, "timed out"));
}
