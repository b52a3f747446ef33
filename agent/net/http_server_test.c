#include "net/http_server_test.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { MAX_CONNECTIONS = 64 };

struct test_connection {
    struct test_server *server;
    pthread_t thread;
    int fd;
};

struct test_server {
    int fd;
    char url[64];
    pthread_t thread;
    test_answer answer;
    void *ctx;
    bool stopping;
    unsigned requests, n;
    struct test_connection connections[MAX_CONNECTIONS];
};

/* One request, its body included, into `in`; what follows it is not expected (no pipelining). */
static bool read_request(int fd, struct buf *in, size_t *head_len)
{
    char piece[16384];
    for (;;) {
        const char *end = in->len ? strstr(in->data, "\r\n\r\n") : NULL;
        if (end) {
            const char *length = strcasestr(in->data, "\r\nContent-Length:");
            *head_len = (size_t)(end + 4 - in->data);
            if (in->len >= *head_len + (length && length < end ? strtoul(length + 17, NULL, 10) : 0))
                return true;
        }
        ssize_t n = recv(fd, piece, sizeof(piece), 0);
        if (n <= 0)
            return false;
        buf_add(in, piece, (size_t)n);
    }
}

static void *serve_connection(void *arg)
{
    struct test_connection *c = arg;
    bool more = true;
    while (more && !__atomic_load_n(&c->server->stopping, __ATOMIC_RELAXED)) {
        AUTO_BUF struct buf in = {0};
        size_t head = 0;
        if (!read_request(c->fd, &in, &head))
            break;
        AUTO_FREE char *text = strndup(in.data, head);
        struct test_request r = {.head = text,
                                 .body = in.data + head,
                                 .body_len = in.len - head,
                                 .fd = c->fd,
                                 .nth = __atomic_fetch_add(&c->server->requests, 1, __ATOMIC_RELAXED),
                                 .stopping = &c->server->stopping};
        more = c->server->answer(c->server->ctx, &r);
    }
    shutdown(c->fd, SHUT_RDWR);
    return NULL;
}

static void *accept_all(void *arg)
{
    struct test_server *s = arg;
    while (s->n < MAX_CONNECTIONS) {
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0)
            break;
        struct test_connection *c = &s->connections[s->n];
        *c = (struct test_connection){.server = s, .fd = fd};
        if (pthread_create(&c->thread, NULL, serve_connection, c)) {
            close(fd);
            break;
        }
        __atomic_fetch_add(&s->n, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

int test_server_new(struct test_server **out, test_answer answer, void *ctx)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    struct test_server *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    *s = (struct test_server){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .answer = answer, .ctx = ctx};
    if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&a, sizeof(a)) || listen(s->fd, 16) ||
        getsockname(s->fd, (struct sockaddr *)&a, &len) || pthread_create(&s->thread, NULL, accept_all, s)) {
        int rc = -errno;
        free(s);
        return rc;
    }
    snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u", ntohs(a.sin_port));
    *out = s;
    return 0;
}

void test_server_free(struct test_server **server)
{
    struct test_server *s = *server;
    if (!s)
        return;
    __atomic_store_n(&s->stopping, true, __ATOMIC_RELAXED);
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    for (unsigned i = 0; i < s->n; i++) {
        shutdown(s->connections[i].fd, SHUT_RDWR);
        pthread_join(s->connections[i].thread, NULL);
        close(s->connections[i].fd);
    }
    free(s);
    *server = NULL;
}

const char *test_server_url(const struct test_server *s)
{
    return s->url;
}

unsigned test_server_connections(const struct test_server *s)
{
    return __atomic_load_n(&s->n, __ATOMIC_ACQUIRE);
}

void test_reply(int fd, int status, const char *headers, const void *body, size_t len)
{
    AUTO_BUF struct buf b = {0};
    buf_printf(&b, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s\r\n", status, len, headers);
    buf_add(&b, body, len);
    send(fd, b.data, b.len, MSG_NOSIGNAL);
}

bool test_has_header(const struct test_request *r, const char *line)
{
    const char *at = r->head;
    size_t n = strlen(line);
    while ((at = strstr(at, "\r\n"))) {
        at += 2;
        if (strncasecmp(at, line, n) == 0)
            return true;
    }
    return false;
}
