#include "cli/agent/kubeconfig.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_DATA (256u << 10) /* of a certificate or key, decoded */

/* The item of a list (clusters, users, contexts) with that name: its number, or -1. */
static int find_item(struct config_file *f, const char *list, const char *name)
{
    char path[128];
    size_t n = config_file_items(f, list);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s.%zu.name", list, i);
        const char *have = config_file_take(f, path, NULL);
        if (have && !strcmp(have, name))
            return (int)i;
    }
    return -1;
}

static const char *field(struct config_file *f, const char *list, int item, const char *kind, const char *key)
{
    char path[160];
    snprintf(path, sizeof(path), "%s.%d.%s.%s", list, item, kind, key);
    return item < 0 ? NULL : config_file_take(f, path, NULL);
}

/* RFC 4648, with line breaks allowed. Returns the length, or -EBADMSG. */
static ssize_t decode_base64(const char *text, u8 *out, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    u32 bits = 0, n = 0;
    size_t len = 0;
    for (; *text && *text != '='; text++) {
        const char *d = strchr(digits, *text);
        if (*text == '\n' || *text == ' ')
            continue;
        if (!d || len >= size)
            return -EBADMSG;
        bits = bits << 6 | (u32)(d - digits);
        if ((n += 6) >= 8)
            out[len++] = (u8)(bits >> (n -= 8));
    }
    return (ssize_t)len;
}

/* A file that libraries can open, for what stands in the kubeconfig itself. */
static int put_data(struct kubeconfig *k, size_t slot, const char *text)
{
    AUTO_FREE u8 *data = malloc(MAX_DATA);
    ssize_t n = data ? decode_base64(text, data, MAX_DATA) : -ENOMEM;
    if (n < 0)
        return (int)n;
    k->fds[slot] = fs_sealed_memfd("kubeconfig", data, (size_t)n);
    snprintf(k->paths[slot], sizeof(k->paths[slot]), "/proc/self/fd/%d", k->fds[slot]);
    return k->fds[slot] < 0 ? k->fds[slot] : 0;
}

/* A relative path counts from the kubeconfig's folder. */
static void put_path(struct kubeconfig *k, size_t slot, const char *path)
{
    const char *name = config_file_name(k->file), *slash = strrchr(name, '/');
    int folder = *path == '/' || !slash ? 0 : (int)(slash - name + 1);
    snprintf(k->paths[slot], sizeof(k->paths[slot]), "%.*s%s", folder, name, path);
}

/* KEY is a path, KEY-data the contents. *out stays NULL when there is neither. */
static int take_file(struct kubeconfig *k, size_t slot, const char *list, int item, const char *kind, const char *key,
                     const char **out)
{
    char data_key[64];
    snprintf(data_key, sizeof(data_key), "%s-data", key);
    const char *path = field(k->file, list, item, kind, key), *data = field(k->file, list, item, kind, data_key);
    int rc = data ? put_data(k, slot, data) : 0;
    if (!data && path)
        put_path(k, slot, path);
    if (!rc && (data || path))
        *out = k->paths[slot];
    return rc;
}

static int fill(struct kubeconfig *k, struct kube_config *out, char *why, size_t len)
{
    struct config_file *f = k->file;
    const char *name = config_file_name(f), *current = config_file_take(f, "current-context", NULL);
    int context = current ? find_item(f, "contexts", current) : -1;
    const char *cluster_name = field(f, "contexts", context, "context", "cluster");
    const char *user_name = field(f, "contexts", context, "context", "user");
    int cluster = cluster_name ? find_item(f, "clusters", cluster_name) : -1;
    int user = user_name ? find_item(f, "users", user_name) : -1;
    out->url = field(f, "clusters", cluster, "cluster", "server");
    if (!out->url) {
        snprintf(why, len, "%s: there is no current context with a server", name);
        return -EINVAL;
    }
    const char *insecure = field(f, "clusters", cluster, "cluster", "insecure-skip-tls-verify");
    out->insecure_skip_verify = insecure && !strcmp(insecure, "true");
    out->token = field(f, "users", user, "user", "token");
    out->token_file = field(f, "users", user, "user", "tokenFile");
    int rc = take_file(k, 0, "clusters", cluster, "cluster", "certificate-authority", &out->ca_file);
    if (!rc)
        rc = take_file(k, 1, "users", user, "user", "client-certificate", &out->cert_file);
    if (!rc)
        rc = take_file(k, 2, "users", user, "user", "client-key", &out->key_file);
    if (rc)
        snprintf(why, len, "%s: a certificate or key is not valid base64", name);
    else if (!out->token && !out->token_file && !out->cert_file) {
        snprintf(why, len, "%s: the user has neither token nor certificate (exec and auth-provider are not supported)",
                 name);
        rc = -ENOTSUP;
    }
    return rc;
}

int kubeconfig_read(struct kubeconfig *k, const char *path, struct kube_config *out, char *why, size_t len)
{
    *k = (struct kubeconfig){.fds = {-1, -1, -1}};
    int rc = config_file_new(&k->file, path, why, len);
    return rc ? rc : fill(k, out, why, len);
}

void kubeconfig_free(struct kubeconfig *k)
{
    for (size_t i = 0; k->file && i < sizeof(k->fds) / sizeof(*k->fds); i++)
        if (k->fds[i] >= 0)
            close(TAKE_FD(k->fds[i]));
    config_file_free(&k->file);
}
