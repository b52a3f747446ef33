/* A gRPC client for the socket of a container runtime: unary calls over HTTP/2 on a unix socket, one at a time, over a
 * persistent connection. Any error closes the connection, and the next call opens a new one; so does a call that finds
 * it closed because the server restarted. The only user of nghttp2.
 *
 * The time of a call and the size of the response are limited. Compressed responses are not supported and are rejected.
 * A response without grpc-status is invalid (PROTOCOL-HTTP2.md of gRPC).
 */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

struct grpc;

enum { GRPC_UNIMPLEMENTED = 12 }; /* the only status that callers distinguish */

struct grpc_reply {
    int status;      /* grpc-status; -1: there was none */
    char error[200]; /* one line without control characters if the call failed */
    struct buf body; /* the message; owned */
};

/* `path` is a socket below the directory root_fd (borrowed), which symbolic links cannot leave; AT_FDCWD: any path.
 * `max` is the maximum size of a message. Does not connect yet. Returns 0 or -ENOMEM. */
int grpc_new(struct grpc **out, int root_fd, const char *path, size_t max);
void grpc_free(struct grpc **g);

/* Calls "package.Service/Method". Returns 0: status 0 and a message in out->body; -EREMOTEIO: another out->status;
 * -ENOENT, -EACCES, -ECONNREFUSED: there is no server; -ETIMEDOUT; -ECANCELED: *stop (checked ten times per second; may
 * be NULL); -EMSGSIZE: the response is larger than allowed; -ECONNRESET: the connection ended; -EPROTO: not a gRPC
 * response. Free `out` in every case. */
int grpc_call(struct grpc *g, const char *method, const void *request, size_t len, unsigned timeout_ms,
              const volatile bool *stop, struct grpc_reply *out);
void grpc_reply_free(struct grpc_reply *r);
