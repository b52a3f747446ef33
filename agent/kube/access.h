/* Calls one server with its URL, CA certificate and credentials. A token file is read again when it changes. After a
 * transport failure a new connection is opened, because a dead connection may look alive for minutes. One thread owns
 * it.
 */
#pragma once
#include "kube/kube.h"
#include "net/http.h"

struct access_config { /* owned; NULL: none */
    char *url, *ca_file, *token_file, *token, *cert_file, *key_file;
    bool insecure_skip_verify;
};

struct access { /* {.config = c} is ready */
    const struct access_config *config;
    struct http_client *client;
    char *token;   /* contents of the token file */
    u64 token_tag; /* identity of the token file */
};

/* Fills `out` from the configuration, the environment (KUBERNETES_SERVICE_HOST, _PORT) and the service account's
 * directory. Returns 0, -EINVAL or -ENOMEM. */
int access_config_from(struct access_config *out, const struct kube_config *config);
void access_config_free(struct access_config *c);

/* Like http_call, but r->url is the path after the server's URL. -ENOENT and similar errors concern the token or CA
 * file. */
int access_call(struct access *a, struct http_request *r, struct http_response *out);
void access_free(struct access *a);

/* Reads the token file if it changed. Returns 1: the token is new; 0: unchanged, or there is no file; or -errno. */
int access_token(struct access *a);
