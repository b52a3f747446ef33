/* A gRPC server for unit tests, on a unix socket: one connection after the other. The test provides a function that
 * answers calls.
 */
#pragma once
#include "base/buf.h"
#include <stddef.h>

struct grpc_server;

enum { GRPC_MUTE = -1 };

/* Answers a call of "/package.Service/Method" with its status: 0 and a message, or an error; GRPC_MUTE: no response.
 * Called by the server's thread. */
typedef int (*grpc_answer)(void *ctx, const char *method, const void *request, size_t len, struct buf *message);

/* Returns 0, or -1 if the server cannot be started. */
int grpc_server_new(struct grpc_server **out, const char *path, grpc_answer answer, void *ctx);
void grpc_server_free(struct grpc_server **s);
