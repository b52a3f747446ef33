#include "kube/reflect_internal.h"
#include "base/stop.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "kube/items.h"
#include "kube/lean.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum {
    LIST_MS = 120 * 1000,   /* for a whole page */
    STOP_MS = 100,          /* how often a pause looks whether to stop */
    CONTINUE_MAX = 8 * 1024 /* bytes of a list's continue token */
};

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

static void warn_once(struct reflect *r, const struct outcome *o)
{
    char text[512];
    if (r->said == (int)o->error + 1)
        return;
    r->said = (int)o->error + 1;
    snprintf(text, sizeof(text), "%s from %.100s: %s", r->what, r->access.config->url, o->text);
    r->ops->warn(r->ctx, text);
}

void reflect_note_answer(struct reflect *r)
{
    __atomic_store_n(&r->stats->success_ns, now_ns(), __ATOMIC_RELAXED);
}

/* All is well for a while now: the next failure is news. A list alone does not say so, or a server that lists but does
 * not let watch would be asked without a pause. */
void reflect_note_steady(struct reflect *r)
{
    r->pause_ms = 0;
    r->said = 0;
}

/* Between half of it and all of it, so that the agents of a cluster do not come back in the same moment. */
static u64 with_jitter(u64 ms)
{
    u32 random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
        random = (u32)now_ns();
    return ms / 2 + random % (ms / 2 + 1);
}

u64 reflect_next_pause(struct reflect *r, unsigned longest)
{
    r->pause_ms = r->pause_ms ? 2 * r->pause_ms : r->retry_ms;
    if (r->pause_ms > longest)
        r->pause_ms = longest;
    return with_jitter(r->pause_ms);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

void reflect_skip_malformed(struct reflect *r)
{
    KUBE_COUNT(r->stats->malformed, 1);
    r->doubtful = true;
}

int reflect_parse(struct reflect *r, struct json **out, const char *text, size_t n)
{
    lean_copy(&r->text, text, n);
    return r->text.failed ? -ENOMEM : json_parse(out, r->text.data, r->text.len, r->max_object);
}

/* A number for an object as it is now: what was handed on once need not be again. An API server's resourceVersion says
 * that; a kubelet's objects change without it, there it is their text. 0: unknown. */
static u64 state_of(const struct reflect *r, const struct json *object)
{
    const char *version = json_text(json_at_path(object, "metadata.resourceVersion"));
    if (r->poll_ms)
        return hash_bytes(r->text.data, r->text.len, r->renewals) | 1;
    return version ? hash_bytes(version, strlen(version), r->renewals) | 1 : 0;
}

void reflect_apply(struct reflect *r, const struct json *object)
{
    u64 state = state_of(r, object);
    const char *key = r->ops->key(object);
    struct known_entry *e = key ? known_put(&r->known, key, NULL) : NULL;
    if (!key) {
        reflect_skip_malformed(r);
        return;
    }
    if (!e) {
        KUBE_COUNT(r->stats->refused, 1);
        return;
    }
    e->round = r->round;
    if (state && e->state == state)
        return;
    int rc = r->ops->apply(r->ctx, object);
    e->state = rc ? 0 : state;
    if (rc == -EXDEV) {
        KUBE_COUNT(r->stats->refused, 1);
        known_remove(&r->known, key);
    } else if (rc) {
        reflect_skip_malformed(r);
    }
}

/* ---- List -------------------------------------------------------------------------------------------------------- */

struct listing {
    struct reflect *r;
    struct items items;
};

static bool list_object(void *ctx, const char *text, size_t n)
{
    struct listing *l = ctx;
    CLEANUP(json_free) struct json *object = NULL;
    KUBE_COUNT(l->r->stats->listed, 1);
    if (reflect_parse(l->r, &object, text, n))
        reflect_skip_malformed(l->r);
    else
        reflect_apply(l->r, object);
    return true;
}

static bool list_piece(void *ctx, const char *data, size_t n)
{
    struct listing *l = ctx;
    return items_feed(&l->items, data, n, list_object, l);
}

void url_escape(struct buf *b, const char *s)
{
    for (; *s; s++)
        if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || strchr("-_.~", *s))
            buf_char(b, *s);
        else
            buf_printf(b, "%%%02X", (unsigned char)*s);
}

/* A page: the first may come from the server's cache, however old, as the watch that follows makes up for it; that
 * spares etcd when the agents of all nodes start at once. */
static void list_url(struct buf *b, const struct reflect *r, const char *next)
{
    buf_str(b, r->ops->path);
    if (r->poll_ms)
        return;
    buf_printf(b, "?limit=%u", r->page);
    if (*next) {
        buf_str(b, "&continue=");
        url_escape(b, next);
    } else if (!r->exact) {
        buf_str(b, "&resourceVersion=0");
    }
    if (*r->query)
        buf_printf(b, "&%s", r->query);
}

/* The page's own words: which version the list is, and where it goes on. */
static struct outcome read_head(struct listing *l, char *version, size_t size, char next[CONTINUE_MAX])
{
    CLEANUP(json_free) struct json *head = NULL;
    struct buf *b = &l->items.head;
    KUBE_COUNT(l->r->stats->oversize, l->items.oversize);
    l->r->doubtful |= l->items.oversize > 0;
    if (!items_complete(&l->items) || json_parse(&head, b->data, b->len, ITEMS_HEAD_MAX))
        return outcome_failure(KUBE_ERROR_MALFORMED, "the response is not a list");
    const char *kind = json_get_text(head, "kind"), *meta = "metadata.resourceVersion";
    size_t n = kind ? strlen(kind) : 0;
    if (n < 5 || strcmp(kind + n - 4, "List") != 0) /* an empty object of somebody else must not empty what we know */
        return outcome_failure(KUBE_ERROR_MALFORMED, "the response is not a list");
    const char *at = json_text(json_at_path(head, meta)), *more = json_text(json_at_path(head, "metadata.continue"));
    if ((at && strlen(at) >= size) || (more && strlen(more) >= CONTINUE_MAX) || (!l->r->poll_ms && (!at || !*at)))
        return outcome_failure(KUBE_ERROR_MALFORMED, "the list has no usable resourceVersion");
    snprintf(version, size, "%s", at ? at : "");
    snprintf(next, CONTINUE_MAX, "%s", more ? more : "");
    return (struct outcome){.failed = false};
}

static struct outcome list_page(struct reflect *r, const volatile bool *stop, char version[64], char next[CONTINUE_MAX])
{
    AUTO_BUF struct buf url = {0};
    struct listing l = {.r = r, .items = {.max = r->max_object}};
    struct http_response answer;
    list_url(&url, r, next);
    if (url.failed)
        return outcome_failure(KUBE_ERROR_LOCAL, "out of memory");
    struct http_request request = {.method = "GET",
                                   .url = url.data,
                                   .timeout_ms = LIST_MS,
                                   .idle_ms = REFLECT_IDLE_MS,
                                   .piece = list_piece,
                                   .ctx = &l,
                                   .stop = stop,
                                   .cancel = &r->renew};
    int rc = access_call(&r->access, &request, &answer);
    struct outcome o = outcome_of_call(rc, &answer);
    if (rc == -ECANCELED && l.items.broken)
        o = outcome_failure(KUBE_ERROR_MALFORMED, "the response is not a list");
    if (!o.failed)
        o = read_head(&l, version, 64, next);
    items_free(&l.items);
    http_response_free(&answer);
    return o;
}

static void call_gone(void *ctx, const char *key)
{
    struct reflect *r = ctx;
    r->ops->gone(r->ctx, key);
}

/* What the list that is complete now lacks is gone, unless an object could not be read: it may be one that we know. A
 * kubelet that has just started answers before it knows its pods: what its lists lack is gone after a while only. */
static void sweep(struct reflect *r)
{
    if (!r->poll_ms && !r->doubtful)
        known_sweep(&r->known, r->round, call_gone, r);
    if (!r->poll_ms)
        return;
    if (!r->since)
        r->since = r->round;
    if (!r->doubtful && r->round - r->since >= r->forget_ms)
        known_sweep(&r->known, r->round - r->forget_ms, call_gone, r);
}

static struct outcome list(struct reflect *r, const volatile bool *stop)
{
    char next[CONTINUE_MAX] = "", version[64];
    r->round = r->poll_ms ? now_ns() / 1000000 : r->round + 1;
    r->doubtful = false;
    do {
        struct outcome o = list_page(r, stop, version, next);
        if (o.failed) {
            r->exact |= o.error == KUBE_ERROR_EXPIRED;
            r->since = 0;
            return o;
        }
    } while (*next);
    sweep(r);
    memcpy(r->version, version, sizeof(version));
    r->exact = false;
    KUBE_COUNT(r->stats->lists, 1);
    reflect_note_answer(r);
    if (r->poll_ms)
        reflect_note_steady(r);
    r->ops->synced(r->ctx);
    return (struct outcome){.failed = false};
}

/* ---- The order of calls ------------------------------------------------------------------------------------------ */

void reflect_wait(u64 ms, const volatile bool *stop)
{
    for (u64 until = now_ns() + ms * 1000000ull, now; !stop_requested(stop) && (now = now_ns()) < until;) {
        u64 left = (until - now) / 1000000ull + 1;
        u64 step = left < STOP_MS ? left : STOP_MS;
        nanosleep(&(struct timespec){.tv_nsec = (long)(step * 1000000ull)}, NULL);
    }
}

static u64 pause_after(struct reflect *r, const struct outcome *o)
{
    bool first = r->pause_ms == 0;
    if (stop_requested(&r->renew))
        return 0;
    if (!o->failed)
        return *r->version && !r->poll_ms ? o->retry_after_ms : r->poll_ms;
    KUBE_COUNT(r->stats->errors[o->error], 1);
    /* What is forbidden may stay so: ever longer. But an API server that has just started forbids everything. */
    bool forbidden = o->error == KUBE_ERROR_FORBIDDEN && r->forbidden_ms;
    u64 pause = reflect_next_pause(r, forbidden ? r->forbidden_ms : r->retry_max_ms);
    if (o->error == KUBE_ERROR_EXPIRED && first) /* that is no fault: list again at once */
        return 0;
    if (o->error == KUBE_ERROR_UNAUTHORIZED && access_token(&r->access) == 1)
        return 0;
    if (o->error != KUBE_ERROR_EXPIRED)
        warn_once(r, o);
    return pause > o->retry_after_ms ? pause : o->retry_after_ms;
}

void reflect_run(struct reflect *r, const volatile bool *stop)
{
    while (!stop_requested(stop)) {
        if (__atomic_exchange_n(&r->renew, false, __ATOMIC_ACQ_REL)) {
            r->version[0] = 0;
            r->renewals++;
        }
        bool listing = r->poll_ms || !*r->version;
        struct outcome o = listing ? list(r, stop) : reflect_watch(r, stop);
        if (!stop_requested(stop))
            reflect_wait(pause_after(r, &o), stop);
    }
}

void reflect_free(struct reflect *r)
{
    access_free(&r->access);
    known_free(&r->known);
    buf_free(&r->text);
    free(r->query);
    r->query = NULL;
}
