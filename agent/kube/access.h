/* Calls one server with its URL, CA certificate and credentials. A token file is read again when it changes. After a
 * transport failure a new connection is opened, as a dead one may look alive for minutes. One thread owns it.
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
    char *token;   /* what the file held */
    u64 token_tag; /* which file that was */
};

/* From the configuration, the environment (KUBERNETES_SERVICE_HOST, _PORT) and the service account's folder. 0, -EINVAL
 * or -ENOMEM. */
int access_config_from(struct access_config *out, const struct kube_config *config);
void access_config_free(struct access_config *c);

/* As http_call; r->url is the path behind the server's URL. -ENOENT and the like: the token or CA file. */
int access_call(struct access *a, struct http_request *r, struct http_response *out);
void access_free(struct access *a);

/* Reads the token file if it is another one than before. 1: the token is new; 0: the same, or no file; or -errno. */
int access_token(struct access *a);
