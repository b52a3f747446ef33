/* An HTTP(S) client: one set of TLS settings and one cache of connections, owned by one thread. Nothing is remembered
 * between calls but connections: no cookies, no redirects, no proxy unless asked for. The only user of libcurl.
 */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_client;

struct http_config {       /* strings are copied; NULL: not wanted */
    const char *ca_file;   /* PEM; NULL: the system's */
    const char *cert_file; /* the client's own certificate and key, PEM */
    const char *key_file;
    const char *unix_socket; /* connect here whatever the URL's host is */
    const char *proxy;       /* NULL: none, and none from the environment either */
    unsigned connect_ms;     /* 0: 5 s */
    bool insecure_skip_verify;
};

struct http_request {
    const char *method; /* "GET", "POST", ... */
    const char *url;
    const char *const *headers; /* "Name: value" */
    size_t nheaders;
    const char *bearer;          /* token, or NULL */
    const char *user, *password; /* basic authentication, or NULL */
    const void *body;            /* NULL: none */
    size_t body_len;
    unsigned timeout_ms; /* for the whole call; 0: none, for streams */
    unsigned idle_ms;    /* without a byte for so long the call fails with -ETIMEDOUT; 0: no such limit */
    size_t max_bytes;    /* of the answer's body, decompressed; 0: 1 MiB. Beyond it -EMSGSIZE. Not for streams. */
    /* A stream: called with each piece of a 2xx body as it arrives, instead of collecting it. False ends the call with
     * -ECANCELED. Bodies of other statuses are collected. */
    bool (*piece)(void *ctx, const char *data, size_t n);
    void *ctx;
    const volatile bool *stop; /* looked at twice a second: true ends the call with -ECANCELED; may be NULL */
};

struct http_response {
    int status;
    struct buf body; /* owned; NUL-terminated when not empty */
    char content_type[64];
    uint64_t retry_after_ms;     /* of a Retry-After header in seconds; 0: none */
    double cpu_seconds, seconds; /* what the call took */
    char error[256];             /* one clean line, when the call returned an error */
};

/* 0, or -errno: -ENOENT or -EACCES when a file of the configuration cannot be read, -ENOMEM. */
int http_client_new(struct http_client **out, const struct http_config *config);
void http_client_free(struct http_client **c);

/* 0: there is an answer, of any status. -ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH (no such host), -EPROTO (TLS: a wrong
 * certificate, HTTP: a broken answer), -EMSGSIZE, -ECANCELED, -ECONNRESET, -EINVAL (no URL; a line break in what is to
 * be sent), -EIO (anything else). `out` is to be freed in every case. */
int http_call(struct http_client *c, const struct http_request *r, struct http_response *out);
void http_response_free(struct http_response *r);
