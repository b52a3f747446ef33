#include "net/grpc_server_test.h"
#include "base/cleanup.h"
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PREFIX 5 /* of a message: compressed flag, length (big endian) */

struct grpc_server {
    char path[108];
    grpc_answer answer;
    void *ctx;
    int listener, fd, over[2];
    pthread_t thread;
    bool runs;
    char method[128]; /* of the call under way */
    struct buf request, reply;
    size_t sent; /* of the reply */
};

static ssize_t on_send(nghttp2_session *session, const uint8_t *data, size_t n, int flags, void *ctx)
{
    ssize_t r = send(((struct grpc_server *)ctx)->fd, data, n, MSG_NOSIGNAL);
    return r > 0 ? r : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t nname,
                     const uint8_t *value, size_t nvalue, uint8_t flags, void *ctx)
{
    struct grpc_server *s = ctx;
    if (nname == 5 && !memcmp(name, ":path", 5))
        snprintf(s->method, sizeof(s->method), "%.*s", (int)nvalue, (const char *)value);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t n, void *ctx)
{
    buf_add(&((struct grpc_server *)ctx)->request, data, n);
    return 0;
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){
        .name = (uint8_t *)name, .value = (uint8_t *)value, .namelen = strlen(name), .valuelen = strlen(value)};
}

static ssize_t read_reply(nghttp2_session *session, int32_t stream, uint8_t *out, size_t size, uint32_t *flags,
                          nghttp2_data_source *source, void *ctx)
{
    struct grpc_server *s = ctx;
    size_t n = s->reply.len - s->sent < size ? s->reply.len - s->sent : size;
    memcpy(out, s->reply.data + s->sent, n);
    s->sent += n;
    if (s->sent == s->reply.len) {
        nghttp2_nv trailer = header("grpc-status", "0");
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(session, stream, &trailer, 1);
    }
    return (ssize_t)n;
}

static void reply(struct grpc_server *s, nghttp2_session *session, int32_t stream)
{
    AUTO_BUF struct buf message = {0};
    bool whole = s->request.len >= PREFIX;
    int status = s->answer(s->ctx, s->method, whole ? s->request.data + PREFIX : "",
                           whole ? s->request.len - PREFIX : 0, &message);
    char number[16];
    snprintf(number, sizeof(number), "%d", status);
    nghttp2_nv headers[] = {header(":status", "200"), header("grpc-status", number)};
    if (status > 0)
        nghttp2_submit_headers(session, NGHTTP2_FLAG_END_STREAM, stream, NULL, headers, 2, NULL);
    if (status)
        return;
    const char prefix[PREFIX] = {0, (char)(message.len >> 24), (char)(message.len >> 16), (char)(message.len >> 8),
                                 (char)message.len};
    s->sent = s->reply.len = 0;
    buf_add(&s->reply, prefix, PREFIX);
    buf_add(&s->reply, message.data, message.len);
    nghttp2_submit_response(session, stream, headers, 1, &(nghttp2_data_provider){.read_callback = read_reply});
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct grpc_server *s = ctx;
    bool request = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    if (request && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
        reply(s, session, frame->hd.stream_id);
        s->request.len = 0;
    }
    return 0;
}

/* Something is to be read; false: the test is over. */
static bool await(const struct grpc_server *s, int fd)
{
    struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = s->over[0], .events = POLLIN}};
    return poll(p, 2, -1) > 0 && !p[1].revents;
}

static void talk(struct grpc_server *s, nghttp2_session *session)
{
    uint8_t bytes[16384];
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
    while (!nghttp2_session_send(session) && await(s, s->fd)) {
        ssize_t n = recv(s->fd, bytes, sizeof(bytes), 0);
        if (n <= 0 || nghttp2_session_mem_recv(session, bytes, (size_t)n) != n)
            return;
    }
}

static void *run(void *arg)
{
    struct grpc_server *s = arg;
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&callbacks))
        return NULL;
    nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    while (await(s, s->listener)) {
        nghttp2_session *session;
        AUTO_CLOSE int fd = s->fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 || nghttp2_session_server_new(&session, callbacks, s))
            continue;
        talk(s, session);
        nghttp2_session_del(session);
        s->request.len = 0;
    }
    nghttp2_session_callbacks_del(callbacks);
    return NULL;
}

int grpc_server_new(struct grpc_server **out, const char *path, grpc_answer answer, void *ctx)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct grpc_server *s = calloc(1, sizeof(*s));
    if (!s)
        return -1;
    s->answer = answer;
    s->ctx = ctx;
    s->over[0] = s->over[1] = -1;
    snprintf(s->path, sizeof(s->path), "%s", path);
    memcpy(at.sun_path, s->path, sizeof(at.sun_path));
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    s->runs = s->listener >= 0 && !pipe2(s->over, O_CLOEXEC) &&
              !bind(s->listener, (struct sockaddr *)&at, sizeof(at)) && !listen(s->listener, 4) &&
              !pthread_create(&s->thread, NULL, run, s);
    if (!s->runs)
        grpc_server_free(&s);
    *out = s;
    return s ? 0 : -1;
}

void grpc_server_free(struct grpc_server **at)
{
    struct grpc_server *s = *at;
    if (!s)
        return;
    close(s->over[1]);
    if (s->runs)
        pthread_join(s->thread, NULL);
    close(s->over[0]);
    close(s->listener);
    unlink(s->path);
    buf_free(&s->request);
    buf_free(&s->reply);
    free(TAKE_PTR(*at));
}
