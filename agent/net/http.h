/* An HTTP(S) client: one set of TLS settings and one cache of connections, owned by one thread. Only connections are
 * kept between calls. No cookies, no redirects, no proxy unless configured (proxy.h). The only user of libcurl.
 */
#pragma once
#include "base/buf.h"
#include "net/proxy.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_client;

struct http_config {       /* strings are copied; NULL: not set */
    const char *ca_file;   /* PEM; NULL: the system's */
    const char *cert_file; /* the client's own certificate and key, PEM */
    const char *key_file;
    const char *unix_socket;   /* connect to this socket instead of the URL's host */
    struct proxy_config proxy; /* {0}: none, also not from the environment */
    unsigned connect_ms;       /* 0: 5 s */
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
    unsigned idle_ms;    /* time without a byte after which the call fails with -ETIMEDOUT; 0: no limit */
    size_t max_bytes;    /* limit of the uncompressed response body (else -EMSGSIZE); 0: 1 MiB. Not for streams */
    /* For streams: called with each piece of a 2xx body as it arrives. Returning false ends the call with -ECANCELED.
     * Bodies of other statuses are stored in the response. */
    bool (*piece)(void *ctx, const char *data, size_t n);
    void *ctx;
    uint64_t max_stream;         /* a stream whose stated length is larger fails with -EMSGSIZE at once; 0: no limit */
    const volatile bool *stop;   /* checked twice per second: true ends the call with -ECANCELED; may be NULL */
    const volatile bool *cancel; /* the same, for this call alone */
};

struct http_response {
    int status;
    struct buf body; /* owned; NUL-terminated when not empty */
    char content_type[64];
    uint64_t retry_after_ms;     /* of a Retry-After header in seconds; 0: none */
    double cpu_seconds, seconds; /* duration of the call */
    char error[256];             /* one line without control characters, if the call failed */
};

/* Returns 0; -ENOENT, -EACCES: a file of the configuration cannot be read; -ELIBACC: libcurl
 * is not installed; -ENOMEM; or another -errno. */
int http_client_new(struct http_client **out, const struct http_config *config);
void http_client_free(struct http_client **c);

/* Returns 0: there is a response, of any status; -ECONNREFUSED; -ETIMEDOUT; -EHOSTUNREACH: no such host; -EPROTO:
 * invalid certificate or malformed response; -EMSGSIZE; -ECANCELED; -ECONNRESET; -EINVAL: invalid URL, or a line break
 * in a value to be sent; -EIO: anything else. Free `out` in every case. */
int http_call(struct http_client *c, const struct http_request *r, struct http_response *out);
void http_response_free(struct http_response *r);
