/* Keeps one kind of object in sync with a server by list and watch, or by polling. The caller defines the objects; this
 * module defines the order of calls and the handling of failures.
 *
 *   list --ok--> watch --ended--> watch --410, or an event was skipped--> list
 *     any failure: a pause that doubles, with jitter, and again; what is known stays
 */
#pragma once
#include "kube/access.h"
#include "kube/known.h"

struct json;

struct reflect_ops {
    const char *path; /* "/api/v1/pods" */
    /* The text that names an object for as long as it lives; NULL: it is no such object. */
    const char *(*key)(const struct json *object);
    /* New or changed. 0; -EBADMSG no such object; -EXDEV not ours; -ENOMEM. */
    int (*apply)(void *ctx, const struct json *object);
    void (*gone)(void *ctx, const char *key);
    void (*synced)(void *ctx);
    void (*warn)(void *ctx, const char *text);
};

struct reflect {
    const struct reflect_ops *ops;
    void *ctx;
    struct access access;
    struct kube_stats *stats; /* shared between threads: counted atomically */
    const char *what;         /* for messages: "pods", "namespaces" */
    char *query;              /* owned: "fieldSelector=...", or "" */
    unsigned poll_ms;         /* not 0: no watch, but a list every so often */
    unsigned page, watch_seconds, retry_ms, retry_max_ms, forbidden_ms, forget_ms;
    size_t max_object;
    /* from here on its own */
    struct known known;
    u64 round;        /* which list is under way: its number, or of a poll the time in ms */
    u64 since;        /* since when polls succeed, in ms; 0: the last one failed */
    char version[64]; /* resourceVersion to watch from; "": list first */
    bool exact;       /* lists must not come from a server's cache, which may be too old */
    bool doubtful;    /* an object was skipped: the next complete list is due soon */
    unsigned pause_ms;
    int said; /* the kube_error + 1 that was warned of last; 0: none */
};

void reflect_run(struct reflect *r, const volatile bool *stop);
void reflect_free(struct reflect *r);

/* Adds to a counter that other threads may read or add to. */
#define KUBE_COUNT(counter, n) ((void)__atomic_add_fetch(&(counter), (n), __ATOMIC_RELAXED))

/* Sleeps so long, or until *stop. */
void reflect_wait(u64 ms, const volatile bool *stop);
/* `s` as it stands in a URL's query: everything but letters, digits and -_.~ as %XX. Appends. */
void url_escape(struct buf *b, const char *s);
