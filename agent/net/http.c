/* One libcurl multi handle is the client (it owns the connections), one easy handle a call. The loop is ours, so that
 * a stop, an idle limit and a caller's refusal are seen within POLL_MS even while nothing arrives.
 */
#include "net/http.h"
#include "base/stop.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/curl_library.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

enum {
    POLL_MS = 500, /* a watch waits for minutes: ten looks a second would cost it 0.05 % of a core */
    CONNECT_MS = 5000,
    MAX_CONNECTIONS = 4,
    MAX_BODY = 1 << 20,
    MAX_HEADERS = 64 << 10, /* of all header lines of one answer: libcurl bounds each line only */
    CA_CACHE_SECONDS = 300  /* a CA file that was replaced is believed after so long */
};

struct http_client {
    struct curl_library curl;
    CURLM *multi;
    char *ca_file, *cert_file, *key_file, *unix_socket;
    struct proxy proxy;
    unsigned connect_ms;
    bool insecure_skip_verify;
};

/* What the callbacks of one call share. `failed` is why they broke it off. */
struct call {
    const struct http_client *client;
    const struct http_request *r;
    struct curl_slist *headers;
    struct http_response *out;
    CURL *easy;
    size_t max, header_bytes;
    int failed;
};

/* ---- The client -------------------------------------------------------------------------------------------------- */

static int copy_string(char **out, const char *s)
{
    *out = s ? strdup(s) : NULL;
    return s && !*out ? -ENOMEM : 0;
}

static int check_readable(const char *path)
{
    AUTO_CLOSE int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    return path && fd < 0 ? -errno : 0;
}

static int take_config(struct http_client *c, const struct http_config *config)
{
    int rc = check_readable(config->ca_file);
    rc = rc ? rc : check_readable(config->cert_file);
    rc = rc ? rc : check_readable(config->key_file);
    rc = rc ? rc : copy_string(&c->ca_file, config->ca_file);
    rc = rc ? rc : copy_string(&c->cert_file, config->cert_file);
    rc = rc ? rc : copy_string(&c->key_file, config->key_file);
    rc = rc ? rc : copy_string(&c->unix_socket, config->unix_socket);
    rc = rc ? rc : proxy_resolve(&c->proxy, &config->proxy);
    c->connect_ms = config->connect_ms ? config->connect_ms : CONNECT_MS;
    c->insecure_skip_verify = config->insecure_skip_verify;
    return rc;
}

int http_client_new(struct http_client **out, const struct http_config *config)
{
    struct curl_library curl;
    int rc = curl_library_load(&curl);
    if (rc)
        return rc;
    if (curl.global_init(CURL_GLOBAL_DEFAULT)) /* counted, and safe in any thread since 7.84 */
        return -ENOMEM;
    struct http_client *c CLEANUP(http_client_free) = calloc(1, sizeof(*c));
    if (!c) {
        curl.global_cleanup();
        return -ENOMEM;
    }
    c->curl = curl;
    rc = take_config(c, config);
    if (rc)
        return rc;
    c->multi = c->curl.multi_init();
    if (!c->multi)
        return -ENOMEM;
    c->curl.multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)MAX_CONNECTIONS);
    *out = TAKE_PTR(c);
    return 0;
}

void http_client_free(struct http_client **c)
{
    if (!*c)
        return;
    void (*cleanup)(void) = (*c)->curl.global_cleanup;
    if ((*c)->multi)
        (*c)->curl.multi_cleanup((*c)->multi);
    free((*c)->ca_file);
    free((*c)->cert_file);
    free((*c)->key_file);
    free((*c)->unix_socket);
    proxy_free(&(*c)->proxy);
    free(*c);
    *c = NULL;
    cleanup();
}

/* ---- What arrives ------------------------------------------------------------------------------------------------ */

static size_t on_header(char *data, size_t size, size_t n, void *ctx)
{
    struct call *call = ctx;
    call->header_bytes += size * n;
    if (call->header_bytes <= MAX_HEADERS)
        return size * n;
    call->failed = -EMSGSIZE;
    return 0;
}

static bool is_piece(const struct call *call)
{
    long status = 0;
    call->client->curl.easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return call->r->piece && status >= 200 && status < 300;
}

/* Of a stream, by what the server states. */
static bool is_too_long(const struct call *call)
{
    curl_off_t stated = -1;
    call->client->curl.easy_getinfo(call->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &stated);
    return call->r->max_stream && stated > 0 && (uint64_t)stated > call->r->max_stream;
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
    struct call *call = ctx;
    struct buf *body = &call->out->body;
    n *= size;
    if (is_piece(call))
        call->failed = is_too_long(call) ? -EMSGSIZE : call->r->piece(call->r->ctx, data, n) ? 0 : -ECANCELED;
    else if (n > call->max - body->len)
        call->failed = -EMSGSIZE;
    else
        buf_add(body, data, n);
    if (body->failed)
        call->failed = -ENOMEM;
    return call->failed ? 0 : n;
}

/* ---- What is asked ----------------------------------------------------------------------------------------------- */

/* A line break inside of a value would be a header, or a request, of somebody else's making. */
static bool is_line(const char *s)
{
    for (; s && *s; s++)
        if ((unsigned char)*s < 0x20 && *s != '\t')
            return false;
    return true;
}

static int add_header(struct call *call, const char *line)
{
    struct curl_slist *longer = call->client->curl.slist_append(call->headers, line);
    if (!longer)
        return -ENOMEM;
    call->headers = longer;
    return 0;
}

static int make_headers(struct call *call)
{
    const struct http_request *r = call->r;
    bool typed = false;
    int rc = add_header(call, "Expect:"); /* no 100-continue: it costs a round trip */
    for (size_t i = 0; !rc && i < r->nheaders; i++) {
        typed |= strncasecmp(r->headers[i], "Content-Type:", 13) == 0;
        rc = is_line(r->headers[i]) ? add_header(call, r->headers[i]) : -EINVAL;
    }
    return rc || typed ? rc : add_header(call, "Content-Type:"); /* else libcurl says it is a form */
}

static void set_proxy(const struct http_client *c, const char *url, CURL *e)
{
    c->curl.easy_setopt(e, CURLOPT_PROXY, proxy_for(&c->proxy, url));
    c->curl.easy_setopt(e, CURLOPT_NOPROXY, c->proxy.except ? c->proxy.except : "");
    if (c->ca_file)
        c->curl.easy_setopt(e, CURLOPT_PROXY_CAINFO, c->ca_file);
}

static void set_server(const struct http_client *c, CURL *e)
{
    c->curl.easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    c->curl.easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    c->curl.easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    c->curl.easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* a resolver that hangs does not hold up who stops */
    c->curl.easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)c->connect_ms);
    c->curl.easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, c->unix_socket);
    if (c->ca_file) {
        c->curl.easy_setopt(e, CURLOPT_CAINFO, c->ca_file);
        c->curl.easy_setopt(e, CURLOPT_CAPATH, NULL); /* this authority and no other */
    }
    c->curl.easy_setopt(e, CURLOPT_CA_CACHE_TIMEOUT, (long)CA_CACHE_SECONDS);
    c->curl.easy_setopt(e, CURLOPT_SSLCERT, c->cert_file);
    c->curl.easy_setopt(e, CURLOPT_SSLKEY, c->key_file);
    c->curl.easy_setopt(e, CURLOPT_SSL_VERIFYPEER, c->insecure_skip_verify ? 0L : 1L);
    c->curl.easy_setopt(e, CURLOPT_SSL_VERIFYHOST, c->insecure_skip_verify ? 0L : 2L);
}

static void set_method(const struct http_client *c, const struct http_request *r, CURL *e)
{
    if (strcmp(r->method, "HEAD") == 0) {
        c->curl.easy_setopt(e, CURLOPT_NOBODY, 1L);
        return;
    }
    if (r->body || strcmp(r->method, "GET") != 0) {
        c->curl.easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
        c->curl.easy_setopt(e, CURLOPT_POSTFIELDS, r->body ? r->body : "");
    }
    c->curl.easy_setopt(e, CURLOPT_CUSTOMREQUEST, r->method);
}

static void set_auth(const struct http_client *c, const struct http_request *r, CURL *e)
{
    if (r->bearer) {
        c->curl.easy_setopt(e, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        c->curl.easy_setopt(e, CURLOPT_XOAUTH2_BEARER, r->bearer);
    } else if (r->user) { /* basic: libcurl's default */
        c->curl.easy_setopt(e, CURLOPT_USERNAME, r->user);
        c->curl.easy_setopt(e, CURLOPT_PASSWORD, r->password ? r->password : "");
    }
}

static void set_request(struct call *call, char *why)
{
    const struct http_client *c = call->client;
    const struct http_request *r = call->r;
    CURL *e = call->easy;
    set_method(c, r, e);
    set_auth(c, r, e);
    c->curl.easy_setopt(e, CURLOPT_URL, r->url);
    c->curl.easy_setopt(e, CURLOPT_HTTPHEADER, call->headers);
    c->curl.easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
    c->curl.easy_setopt(e, CURLOPT_ACCEPT_ENCODING, ""); /* whatever libcurl can undo */
    c->curl.easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    c->curl.easy_setopt(e, CURLOPT_HEADERDATA, call);
    c->curl.easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    c->curl.easy_setopt(e, CURLOPT_WRITEDATA, call);
    c->curl.easy_setopt(e, CURLOPT_ERRORBUFFER, why);
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

static uint64_t bytes_moved(const struct http_client *c, CURL *e)
{
    curl_off_t up = 0, down = 0;
    long header = 0;
    c->curl.easy_getinfo(e, CURLINFO_SIZE_UPLOAD_T, &up);
    c->curl.easy_getinfo(e, CURLINFO_SIZE_DOWNLOAD_T, &down);
    c->curl.easy_getinfo(e, CURLINFO_HEADER_SIZE, &header);
    return (uint64_t)up + (uint64_t)down + (uint64_t)header;
}

/* Runs the transfer until it ends by itself (its result goes to *code) or has to be broken off (-errno). */
static int transfer(const struct http_client *c, const struct call *call, CURLcode *code)
{
    uint64_t moved = 0, moved_ns = now_ns();
    for (;;) {
        int running = 0, left = 0;
        if (stop_requested(call->r->stop) || stop_requested(call->r->cancel))
            return -ECANCELED;
        if (c->curl.multi_perform(c->multi, &running))
            return -EIO;
        CURLMsg *m = c->curl.multi_info_read(c->multi, &left);
        if (m && m->msg == CURLMSG_DONE) {
            *code = m->data.result;
            return 0;
        }
        uint64_t bytes = bytes_moved(c, call->easy), now = now_ns();
        if (bytes != moved)
            moved_ns = now;
        else if (call->r->idle_ms && now - moved_ns > call->r->idle_ms * 1000000ull)
            return -ETIMEDOUT;
        moved = bytes;
        if (c->curl.multi_poll(c->multi, NULL, 0, POLL_MS, NULL))
            return -EIO;
    }
}

static void take_answer(const struct http_client *c, CURL *e, struct http_response *out)
{
    long status = 0;
    const char *type = NULL;
    curl_off_t retry = 0;
    c->curl.easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
    c->curl.easy_getinfo(e, CURLINFO_CONTENT_TYPE, &type);
    c->curl.easy_getinfo(e, CURLINFO_RETRY_AFTER, &retry);
    out->status = (int)status;
    out->retry_after_ms = retry > 0 && retry < 1 << 30 ? (uint64_t)retry * 1000 : 0;
    snprintf(out->content_type, sizeof(out->content_type), "%s", type ? type : "");
    log_clean(out->content_type);
}

static const char *reason_of(const struct call *call, int rc, CURLcode code, const char *why)
{
    if (call->failed == -EMSGSIZE)
        return "the response is larger than the limit";
    if (rc == -ECANCELED || call->failed == -ECANCELED)
        return "cancelled";
    if (rc == -ETIMEDOUT && code == CURLE_OK)
        return "timed out: no data arrived";
    return *why ? why : code ? call->client->curl.easy_strerror(code) : strerror(-rc);
}

static void call_free(struct call *call)
{
    call->client->curl.easy_cleanup(call->easy);
    call->client->curl.slist_free_all(call->headers);
}

int http_call(struct http_client *c, const struct http_request *r, struct http_response *out)
{
    char why[CURL_ERROR_SIZE] = "";
    CURLcode code = CURLE_OK;
    uint64_t start = now_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    *out = (struct http_response){0};
    CURL *e = c->curl.easy_init();
    CLEANUP(call_free)
    struct call call = {.client = c, .r = r, .out = out, .easy = e, .max = r->max_bytes ? r->max_bytes : MAX_BODY};
    int rc = !e ? -ENOMEM : is_line(r->bearer) && is_line(r->url) ? make_headers(&call) : -EINVAL;
    if (!rc) {
        set_server(c, e);
        set_proxy(c, r->url, e);
        set_request(&call, why);
        rc = c->curl.multi_add_handle(c->multi, e) ? -ENOMEM : transfer(c, &call, &code);
        c->curl.multi_remove_handle(c->multi, e);
        take_answer(c, e, out);
        rc = call.failed ? call.failed : rc ? rc : curl_library_error(&c->curl, code, e);
    }
    if (rc) {
        snprintf(out->error, sizeof(out->error), "%s", reason_of(&call, rc, code, why));
        log_clean(out->error);
    }
    out->seconds = (double)(now_ns() - start) / 1e9;
    out->cpu_seconds = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) / 1e9;
    return rc;
}

void http_response_free(struct http_response *r)
{
    buf_free(&r->body);
}
