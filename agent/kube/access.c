#include "kube/access.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hash.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_MAX (64 * 1024) /* bytes; service account tokens have about 1 KiB */

static int copy(char **out, const char *s)
{
    *out = s ? strdup(s) : NULL;
    return s && !*out ? -ENOMEM : 0;
}

static int url_of_cluster(char **out)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    if (!host || !*host || !port || !*port)
        return -EINVAL;
    const char *format = strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s"; /* IPv6 */
    return asprintf(out, format, host, port) < 0 ? -ENOMEM : 0;
}

static int file_in(char **out, const char *folder, const char *name)
{
    return asprintf(out, "%s/%s", folder, name) < 0 ? -ENOMEM : 0;
}

/* A file of the service account's folder, unless it is not there and need not be. */
static int file_of_account(char **out, const struct kube_config *config, const char *name)
{
    AUTO_FREE char *path = NULL;
    int rc = file_in(&path, config->service_account ? config->service_account : KUBE_SERVICE_ACCOUNT, name);
    if (!rc && (!config->url || !access(path, R_OK)))
        *out = TAKE_PTR(path);
    return rc;
}

/* Without any word about who we are, we are the pod's service account; outside of a pod nobody (kubectl proxy, the
 * kubelet's read-only port). The kubelets' certificates are the cluster's, if anybody's. */
static int take_service_account(struct access_config *c, const struct kube_config *config)
{
    bool identity = c->token_file || c->token || c->cert_file;
    bool of_cluster = config->service_account || !config->url || config->source == KUBE_KUBELET;
    int rc = !identity ? file_of_account(&c->token_file, config, "token") : 0;
    if (!rc && !c->ca_file && of_cluster && !c->insecure_skip_verify)
        rc = file_of_account(&c->ca_file, config, "ca.crt");
    return rc;
}

int access_config_from(struct access_config *out, const struct kube_config *config)
{
    CLEANUP(access_config_free) struct access_config c = {.insecure_skip_verify = config->insecure_skip_verify};
    int rc = config->url ? copy(&c.url, config->url) : url_of_cluster(&c.url);
    rc = rc ? rc : copy(&c.ca_file, config->ca_file);
    rc = rc ? rc : copy(&c.token_file, config->token_file);
    rc = rc ? rc : copy(&c.token, config->token);
    rc = rc ? rc : copy(&c.cert_file, config->cert_file);
    rc = rc ? rc : copy(&c.key_file, config->key_file);
    rc = rc ? rc : take_service_account(&c, config);
    if (rc)
        return rc;
    for (size_t n = strlen(c.url); n && c.url[n - 1] == '/'; n--)
        c.url[n - 1] = 0;
    *out = c;
    c = (struct access_config){0};
    return 0;
}

void access_config_free(struct access_config *c)
{
    free(c->url);
    free(c->ca_file);
    free(c->token_file);
    free(c->token);
    free(c->cert_file);
    free(c->key_file);
    *c = (struct access_config){0};
}

/* Another number for another file, or other bytes in it: rotation swaps a symbolic link. */
static int tag_of(const char *path, u64 *tag)
{
    struct stat st;
    if (stat(path, &st))
        return -errno;
    const u64 parts[] = {st.st_dev, st.st_ino, (u64)st.st_size, (u64)st.st_mtim.tv_sec, (u64)st.st_mtim.tv_nsec};
    *tag = hash_bytes(parts, sizeof(parts), 1);
    return 0;
}

int access_token(struct access *a)
{
    u64 tag = 0;
    AUTO_FREE char *token = NULL;
    if (!a->config->token_file)
        return 0;
    int rc = tag_of(a->config->token_file, &tag);
    if (rc || (a->token && tag == a->token_tag))
        return rc;
    rc = fs_read_file(a->config->token_file, TOKEN_MAX, &token, NULL);
    if (rc)
        return rc;
    token[strcspn(token, "\r\n")] = 0;
    bool same = a->token && !strcmp(a->token, token);
    free(a->token);
    a->token = TAKE_PTR(token);
    a->token_tag = tag;
    return !same;
}

static int connect_to(struct access *a)
{
    const struct access_config *c = a->config;
    struct http_config http = {.ca_file = c->ca_file,
                               .cert_file = c->cert_file,
                               .key_file = c->key_file,
                               .insecure_skip_verify = c->insecure_skip_verify};
    return a->client ? 0 : http_client_new(&a->client, &http);
}

int access_call(struct access *a, struct http_request *r, struct http_response *out)
{
    AUTO_FREE char *url = NULL;
    *out = (struct http_response){0};
    int rc = access_token(a);
    if (rc < 0) {
        snprintf(out->error, sizeof(out->error), "cannot read the token file %.200s: %s", a->config->token_file,
                 strerror(-rc));
        return rc;
    }
    rc = connect_to(a);
    if (rc) {
        snprintf(out->error, sizeof(out->error), "cannot read the CA certificate or the client certificate: %s",
                 strerror(-rc));
        return rc;
    }
    if (asprintf(&url, "%s%s", a->config->url, r->url) < 0)
        return -ENOMEM;
    r->url = url;
    r->bearer = a->token ? a->token : a->config->token;
    rc = http_call(a->client, r, out);
    r->url = r->bearer = NULL;
    if (rc && rc != -ECANCELED)
        http_client_free(&a->client);
    return rc;
}

void access_free(struct access *a)
{
    http_client_free(&a->client);
    free(a->token);
    a->token = NULL;
}
