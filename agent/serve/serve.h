/* Serves the agent's pages over HTTP: /metrics (Prometheus), /healthz, /readyz, /targets. The pages are read-only and
 * contain no secrets, but /targets names everybody's pods: only this host reads it, and who has a token. One thread
 * serves them; handlers of the caller provide the content. The only user of libmicrohttpd.
 */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

struct serve;

struct serve_handlers { /* called on the server's thread, one at a time */
    void *ctx;
    void (*metrics)(void *ctx, bool openmetrics, struct buf *out);
    bool (*healthy)(void *ctx, struct buf *why);  /* liveness; always writes a line of text */
    bool (*ready)(void *ctx, struct buf *why);    /* readiness; the same */
    bool (*exports)(void *ctx, struct buf *why);  /* whether profiles reach a backend; the same */
    bool (*targets)(void *ctx, struct buf *json); /* false: not available now */
};

struct serve_config {
    const char *address; /* HOST:PORT with a numeric host: "127.0.0.1:7055", "[::]:7055"; port 0 selects a free one */
    const char *targets_token_file; /* holds the token that opens /targets to other hosts; NULL: none; borrowed */
    struct serve_handlers handlers;
};

/* Starts the server. Returns 0, or -errno and a line in why[]. */
int serve_new(struct serve **out, const struct serve_config *config, char *why, size_t len);
/* Checks such an address, with the same results. Opens nothing. */
int serve_check(const char *address, char *why, size_t len);
void serve_free(struct serve **s);
/* Returns the port it listens on. */
unsigned serve_port(const struct serve *s);
