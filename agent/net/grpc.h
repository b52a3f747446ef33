/* A gRPC client for the socket of a container runtime: unary calls over HTTP/2 on a unix socket, one at a time, on a
 * connection that is kept. Whatever goes wrong closes it, and the next call connects again; so does a call that finds
 * the kept connection closed by a server that restarted meanwhile. The only user of nghttp2.
 *
 * What a call may take is bounded: its time, and the bytes of the answer. A server's compression is not understood and
 * refused; an answer without a grpc-status is none (PROTOCOL-HTTP2.md of gRPC).
 */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

struct grpc;

enum { GRPC_UNIMPLEMENTED = 12 }; /* the one status that callers act upon */

struct grpc_reply {
    int status;      /* grpc-status; -1: there was none */
    char error[200]; /* one clean line when the call failed */
    struct buf body; /* the message; owned */
};

/* `path` is a socket below the directory root_fd, which links cannot leave; AT_FDCWD: any path. The descriptor is
 * borrowed. `max` bounds a message. Nothing is connected yet. 0 or -ENOMEM. */
int grpc_new(struct grpc **out, int root_fd, const char *path, size_t max);
void grpc_free(struct grpc **g);

/* Calls "package.Service/Method". 0: status 0 and a message in out->body. -EREMOTEIO: another out->status. -ENOENT,
 * -EACCES, -ECONNREFUSED: nobody listens; -ETIMEDOUT; -ECANCELED: *stop (looked at ten times a second; may be NULL);
 * -EMSGSIZE: the answer is larger than allowed; -ECONNRESET: the connection ended; -EPROTO: not gRPC as we know it.
 * `out` is to be freed in every case. */
int grpc_call(struct grpc *g, const char *method, const void *request, size_t len, unsigned timeout_ms,
              const volatile bool *stop, struct grpc_reply *out);
void grpc_reply_free(struct grpc_reply *r);
