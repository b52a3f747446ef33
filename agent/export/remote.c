#include "export/remote.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/labels.h"
#include "base/log.h"
#include "base/utf8.h"
#include "net/http.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    TIMEOUT_MS = 15000,
    MAX_SECRET = 64 << 10, /* a token; a service account's is 1 KB */
    MAX_ANSWER = 64 << 10,
    BURST = 2 << 20 /* Pyroscope's -distributor.ingestion-burst-size-mb: above it, 429 for ever */
};

struct remote {
    const struct export_target *target;
    struct http_client *client;
    struct buf url, user_agent, content_type, tenant;
};

int remote_new(struct remote **out, const struct export_target *t, const char *path, const char *content_type,
               char *why, size_t size)
{
    struct remote *r CLEANUP(remote_free) = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->target = t;
    if (!t->url || (strncmp(t->url, "http://", 7) && strncmp(t->url, "https://", 8))) {
        snprintf(why, size, "%s: the URL must begin with http:// or https://", t->name);
        return -EINVAL;
    }
    struct http_config config = {
        .ca_file = t->ca_file,
        .cert_file = t->cert_file,
        .key_file = t->key_file,
        .proxy = proxy_config_of(t->proxy, t->no_proxy),
        .insecure_skip_verify = t->insecure,
    };
    int rc = http_client_new(&r->client, &config);
    if (rc) {
        snprintf(why, size, "%s: cannot read the certificate files: %s", t->name, strerror(-rc));
        return rc;
    }
    size_t n = strlen(t->url);
    while (n && t->url[n - 1] == '/')
        n--;
    buf_add(&r->url, t->url, n);
    buf_str(&r->url, path);
    buf_printf(&r->content_type, "Content-Type: %s", content_type);
    buf_printf(&r->tenant, "X-Scope-OrgID: %s", t->tenant ? t->tenant : "");
    buf_str(&r->user_agent, "User-Agent: xprof/" XPROF_VERSION);
    if (r->url.failed || r->content_type.failed || r->tenant.failed || r->user_agent.failed)
        return -ENOMEM;
    *out = TAKE_PTR(r);
    return 0;
}

void remote_free(struct remote **r)
{
    if (!*r)
        return;
    http_client_free(&(*r)->client);
    buf_free(&(*r)->url);
    buf_free(&(*r)->content_type);
    buf_free(&(*r)->tenant);
    buf_free(&(*r)->user_agent);
    free(*r);
    *r = NULL;
}

const struct export_target *remote_target(const struct remote *r)
{
    return r->target;
}

/* ---- What an answer means ---------------------------------------------------------------------------------------- */

/* One clean line of at most 255 bytes, cut between characters. */
static void set_message(struct verdict *out, const char *prefix, const char *text, size_t len)
{
    size_t max = sizeof(out->message) - 1;
    size_t n = (size_t)snprintf(out->message, sizeof(out->message), "%s", prefix);
    for (size_t i = 0; i < len && n < max;) {
        size_t width = utf8_len(text + i, len - i);
        if (n + (width ? width : 1) > max)
            break;
        memcpy(out->message + n, width ? text + i : "?", width ? width : 1);
        n += width ? width : 1;
        i += width ? width : 1;
    }
    out->message[n] = 0;
    log_clean(out->message);
}

/* connect's errors are {"code": "invalid_argument", "message": "..."}; OTLP's a google.rpc.Status; a proxy's HTML. */
static void take_message(int status, const char *content_type, const char *body, size_t len, struct verdict *out)
{
    struct json *j CLEANUP(json_free) = NULL;
    char prefix[64];
    snprintf(prefix, sizeof(prefix), "%d ", status);
    if (strncmp(content_type, "application/json", 16) == 0 && json_parse(&j, body, len, MAX_ANSWER) == 0 &&
        json_get_text(j, "message")) {
        const char *code = json_get_text(j, "code"), *text = json_get_text(j, "message");
        snprintf(prefix, sizeof(prefix), "%d %.40s: ", status, code ? code : "error");
        set_message(out, prefix, text, strlen(text));
    } else if (strncmp(content_type, "text/plain", 10) == 0 || strncmp(content_type, "application/json", 16) == 0) {
        set_message(out, prefix, body, len);
    } else {
        snprintf(prefix, sizeof(prefix), "%d without a message", status);
        set_message(out, prefix, "", 0);
    }
}

static void decide(struct verdict *out, enum verdict_kind kind, enum export_reason reason, bool guilty)
{
    out->kind = kind;
    out->reason = reason;
    out->guilty = guilty;
}

/* Pyroscope says this of profiles outside of its window (pkg/validation), with status 400. */
static bool is_too_old(const struct verdict *v)
{
    return strstr(v->message, "outside of ingestion window") != NULL;
}

void remote_judge(int status, const char *content_type, const char *body, size_t len, u64 raw_len, struct verdict *out)
{
    bool page = strncmp(content_type, "text/html", 9) == 0;
    if (status >= 200 && status < 300 && !page) {
        out->kind = VERDICT_DONE;
        return;
    }
    take_message(status, content_type, body ? body : "", body ? len : 0, out);
    if (status == 413 || (status == 429 && raw_len > BURST))
        decide(out, VERDICT_DROP, EXPORT_TOO_LARGE, false);
    else if (status == 400 || status == 415 || status == 422)
        decide(out, VERDICT_DROP, is_too_old(out) ? EXPORT_TOO_OLD : EXPORT_INVALID, false);
    else if (status == 401 || status == 403 || status == 407)
        decide(out, VERDICT_BLOCKED, EXPORT_UNAUTHORIZED, false);
    else if (status == 429)
        decide(out, VERDICT_RETRY, EXPORT_RATE_LIMITED, true);
    else if (status == 408 || status == 504)
        decide(out, VERDICT_RETRY, EXPORT_TIMEOUT, true);
    else if (status >= 500 && status != 501)
        decide(out, VERDICT_RETRY, EXPORT_SERVER_ERROR, true);
    else
        decide(out, VERDICT_BLOCKED, EXPORT_WRONG_URL, false);
}

static void judge_failure(const struct remote *r, int rc, const struct http_response *a, struct verdict *out)
{
    set_message(out, "", a->error, strlen(a->error));
    if (rc == -ECANCELED)
        out->kind = VERDICT_STOPPED;
    else if (rc == -ETIMEDOUT)
        decide(out, VERDICT_RETRY, EXPORT_TIMEOUT, true);
    else if (rc == -EINVAL)
        decide(out, VERDICT_BLOCKED, EXPORT_WRONG_URL, false);
    else if (rc == -EPROTO && strncmp(r->target->url, "https:", 6) == 0)
        decide(out, VERDICT_RETRY, EXPORT_TLS, false);
    else if (rc == -EPROTO || rc == -EMSGSIZE)
        decide(out, VERDICT_RETRY, EXPORT_BAD_ANSWER, false);
    else
        decide(out, VERDICT_RETRY, EXPORT_UNREACHABLE, false);
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

/* A secret out of its file, without the line's end. NULL path: none. */
static int read_secret(const char *path, char **out)
{
    size_t n = 0;
    int rc = path ? fs_read_file(path, MAX_SECRET, out, &n) : 0;
    while (!rc && n && ((*out)[n - 1] == '\n' || (*out)[n - 1] == '\r'))
        (*out)[--n] = 0;
    return rc;
}

static size_t make_headers(const struct remote *r, const struct remote_call *c, const char *out[], size_t max)
{
    const struct export_target *t = r->target;
    size_t n = 0;
    out[n++] = r->user_agent.data;
    out[n++] = r->content_type.data;
    if (t->tenant)
        out[n++] = r->tenant.data;
    if (c->gzipped)
        out[n++] = "Content-Encoding: gzip";
    for (size_t i = 0; i < t->nheaders && n < max; i++)
        out[n++] = t->headers[i];
    return n;
}

void remote_post(struct remote *r, const struct remote_call *c, struct verdict *out, struct buf *answer)
{
    const struct export_target *t = r->target;
    const char *headers[36];
    AUTO_FREE char *bearer = NULL, *password = NULL;
    struct http_response a CLEANUP(http_response_free) = {0};
    *out = (struct verdict){0};
    int rc = read_secret(t->bearer_file, &bearer);
    rc = rc ? rc : read_secret(t->password_file, &password);
    if (rc) {
        set_message(out, "cannot read the credential file: ", strerror(-rc), strlen(strerror(-rc)));
        decide(out, VERDICT_BLOCKED, EXPORT_UNAUTHORIZED, false);
        return;
    }
    struct http_request q = {.method = "POST",
                             .url = r->url.data,
                             .headers = headers,
                             .nheaders = make_headers(r, c, headers, sizeof(headers) / sizeof(*headers)),
                             .bearer = bearer,
                             .user = t->user,
                             .password = password,
                             .body = c->body,
                             .body_len = c->len,
                             .timeout_ms = t->timeout_ms ? t->timeout_ms : TIMEOUT_MS,
                             .max_bytes = MAX_ANSWER,
                             .stop = c->stop};
    rc = http_call(r->client, &q, &a);
    if (rc)
        judge_failure(r, rc, &a, out);
    else
        remote_judge(a.status, a.content_type, a.body.data, a.body.len, c->raw_len, out);
    out->bytes = c->len;
    out->seconds = a.seconds;
    out->cpu_seconds = a.cpu_seconds;
    out->retry_after_ms = a.retry_after_ms;
    if (answer && out->kind == VERDICT_DONE)
        buf_add(answer, a.body.data, a.body.len);
}

size_t remote_labels(const struct export_target *t, const struct export_profile *p,
                     struct export_label out[2 * EXPORT_MAX_LABELS])
{
    size_t n = 0;
    for (size_t i = 0; i < p->nlabels; i++)
        out[n++] = p->labels[i];
    for (size_t i = 0; i < t->nexternal && n < LABELS_MAX; i++)
        if (!record_label(p, t->external_labels[i].name))
            out[n++] = t->external_labels[i];
    return n;
}
