#include "kube/event.h"
#include "base/cleanup.h"
#include "base/labels.h"
#include "kube/reflect.h"
#include <errno.h>
#include <string.h>
#include <time.h>

enum { EVENT_MS = 10 * 1000 };

struct event {
    struct buf url, body;
};

static void put(struct buf *b, const char *before, const char *text)
{
    char clean[1024]; /* the API's bound for an event's message */
    label_clean_value(clean, sizeof(clean), text);
    buf_str(b, before);
    buf_json(b, clean);
}

/* An Event of core/v1. */
static void event_json(struct buf *b, const char *node, const struct kube_pod *pod, const char *reason,
                       const char *message)
{
    char now[32];
    time_t t = time(NULL);
    struct tm tm;
    strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
    put(b, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"generateName\":\"xprof-\",\"namespace\":",
        pod->namespace);
    put(b, "},\"type\":\"Warning\",\"count\":1,\"reason\":", reason);
    put(b, ",\"message\":", message);
    put(b, ",\"firstTimestamp\":", now);
    put(b, ",\"lastTimestamp\":", now);
    put(b, ",\"involvedObject\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":", pod->namespace);
    put(b, ",\"name\":", pod->name);
    put(b, ",\"uid\":", pod->uid);
    put(b, "},\"source\":{\"component\":\"xprof\",\"host\":", node ? node : "");
    buf_str(b, "}}");
}

int event_new(struct event **out, const char *node, const struct kube_pod *pod, const char *reason, const char *message)
{
    CLEANUP(event_free) struct event *e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    buf_str(&e->url, "/api/v1/namespaces/");
    url_escape(&e->url, pod->namespace);
    buf_str(&e->url, "/events");
    event_json(&e->body, node, pod, reason, message);
    if (e->body.failed || e->url.failed)
        return -ENOMEM;
    *out = TAKE_PTR(e);
    return 0;
}

void event_free(struct event **e)
{
    if (!*e)
        return;
    buf_free(&(*e)->url);
    buf_free(&(*e)->body);
    free(*e);
    *e = NULL;
}

int event_post(const struct event *e, struct access *to)
{
    static const char *const headers[] = {"Content-Type: application/json"};
    struct http_response answer;
    struct http_request r = {.method = "POST",
                             .url = e->url.data,
                             .headers = headers,
                             .nheaders = 1,
                             .body = e->body.data,
                             .body_len = e->body.len,
                             .timeout_ms = EVENT_MS};
    int rc = access_call(to, &r, &answer);
    rc = rc ? rc : answer.status == 401 || answer.status == 403 ? -EPERM : answer.status / 100 != 2 ? -EIO : 0;
    http_response_free(&answer);
    return rc;
}
