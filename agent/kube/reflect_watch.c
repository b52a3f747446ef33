/* The watch: events, a line each, from the version on that is known; and where to go on after it. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "kube/lines.h"
#include "kube/reflect_internal.h"
#include <stdio.h>
#include <string.h>

#define HASTY_MS 1000 /* a watch that ends sooner, with nothing in it, is not begun again at once */

struct watching {
    struct reflect *r;
    struct lines lines;
    struct outcome outcome; /* of an ERROR event */
    u64 events, malformed;
};

static void take_version(struct reflect *r, const struct json *object)
{
    const char *version = json_text(json_at_path(object, "metadata.resourceVersion"));
    if (version && *version && strlen(version) < sizeof(r->version))
        snprintf(r->version, sizeof(r->version), "%s", version);
}

static void forget(struct reflect *r, const struct json *object)
{
    const char *key = r->ops->key(object);
    if (!key)
        reflect_skip_malformed(r);
    else if (known_remove(&r->known, key))
        r->ops->gone(r->ctx, key);
}

/* An ERROR event: a Status, which says why the server ends the watch. */
static bool take_error(struct watching *w, const struct json *status)
{
    int64_t code = 0;
    const char *message = json_get_text(status, "message");
    json_get_int(status, "code", &code);
    w->outcome =
        outcome_failure(code == 410 ? KUBE_ERROR_EXPIRED : KUBE_ERROR_SERVER, message ? message : "an ERROR event");
    return false;
}

static bool watch_line(void *ctx, const char *line, size_t n)
{
    struct watching *w = ctx;
    struct reflect *r = w->r;
    CLEANUP(json_free) struct json *event = NULL;
    const char *type = reflect_parse(r, &event, line, n) ? NULL : json_get_text(event, "type");
    const struct json *object = json_get(event, "object");
    if (!type || !object) {
        w->malformed++;
        reflect_skip_malformed(r);
        return true;
    }
    if (!strcmp(type, "ERROR"))
        return take_error(w, object);
    w->events++;
    if (!strcmp(type, "ADDED") || !strcmp(type, "MODIFIED")) {
        KUBE_COUNT(*(*type == 'A' ? &r->stats->added : &r->stats->modified), 1);
        reflect_apply(r, object);
    } else if (!strcmp(type, "DELETED")) {
        KUBE_COUNT(r->stats->deleted, 1);
        forget(r, object);
    } else if (!strcmp(type, "BOOKMARK")) {
        KUBE_COUNT(r->stats->bookmarks, 1);
    } else {
        reflect_skip_malformed(r);
    }
    take_version(r, object);
    reflect_note_answer(r);
    return true;
}

static bool watch_piece(void *ctx, const char *data, size_t n)
{
    struct watching *w = ctx;
    return lines_feed(&w->lines, data, n, watch_line, w);
}

static void watch_url(struct buf *b, const struct reflect *r)
{
    buf_printf(b, "%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%u&resourceVersion=", r->ops->path,
               r->watch_seconds);
    url_escape(b, r->version);
    if (*r->query)
        buf_printf(b, "&%s", r->query);
}

/* After a watch: where to go on. A cut in the middle of a line is a line that did not come: the next watch begins
 * before it. */
static struct outcome after_watch(struct watching *w, struct outcome o)
{
    struct reflect *r = w->r;
    if (w->outcome.failed)
        o = w->outcome;
    else if (!o.failed && w->malformed && !w->events)
        o = outcome_failure(KUBE_ERROR_MALFORMED, "the watch contains no events");
    KUBE_COUNT(r->stats->oversize, w->lines.oversize);
    r->doubtful |= w->lines.oversize > 0;
    if (o.failed && o.error == KUBE_ERROR_EXPIRED)
        r->exact = true;
    if (r->doubtful || (o.failed && (o.error == KUBE_ERROR_EXPIRED || o.error == KUBE_ERROR_SERVER)))
        r->version[0] = 0;
    return o;
}

struct outcome reflect_watch(struct reflect *r, const volatile bool *stop)
{
    AUTO_BUF struct buf url = {0};
    struct watching w = {.r = r, .lines = {.max = r->max_object}};
    struct http_response answer;
    u64 start = now_ns();
    watch_url(&url, r);
    if (url.failed)
        return outcome_failure(KUBE_ERROR_LOCAL, "out of memory");
    struct http_request request = {.method = "GET",
                                   .url = url.data,
                                   .idle_ms = r->watch_seconds * 1000 + REFLECT_IDLE_MS,
                                   .piece = watch_piece,
                                   .ctx = &w,
                                   .stop = stop,
                                   .cancel = &r->renew};
    KUBE_COUNT(r->stats->watches, 1);
    int rc = access_call(&r->access, &request, &answer);
    struct outcome o = after_watch(&w, outcome_of_call(rc, &answer));
    if (answer.status == 200 && now_ns() - start > HASTY_MS * 1000000ull)
        reflect_note_steady(r);
    else if (!o.failed)
        o.retry_after_ms = reflect_next_pause(r, r->retry_max_ms);
    lines_free(&w.lines);
    http_response_free(&answer);
    return o;
}
