/* Keeps one kind of object in sync with a server by list and watch, or by polling. The caller defines the objects; this
 * module defines the order of calls and the handling of failures.
 *
 *   list --ok--> watch --ended--> watch --410, or an event was skipped--> list
 *     any failure: retry after a delay that doubles, with jitter; known objects are kept
 */
#pragma once
#include "base/buf.h"
#include "kube/access.h"
#include "kube/known.h"

struct json;

struct reflect_ops {
    const char *path; /* "/api/v1/pods" */
    /* The text that identifies an object during its lifetime; NULL: not an object of this kind. */
    const char *(*key)(const struct json *object);
    /* The object is new or changed. Returns 0; -EBADMSG: not an object of this kind; -EXDEV: not ours; -ENOMEM. */
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
    unsigned poll_ms;         /* not 0: interval of lists, which replace the watch */
    unsigned page, watch_seconds, retry_ms, retry_max_ms, forbidden_ms, forget_ms;
    size_t max_object;
    /* Set by any thread: the call that runs is given up, and everything is listed and applied anew. */
    volatile bool renew;
    /* the members below are private */
    struct known known;
    struct buf text;  /* of the object that was parsed last */
    u64 renewals;     /* how often that was done */
    u64 round;        /* the current list: its number, or with polling the time in ms */
    u64 since;        /* time in ms since which polls succeed; 0: the last one failed */
    char version[64]; /* resourceVersion to watch from; "": list first */
    bool exact;       /* lists must not come from the server's cache, which may be outdated */
    bool doubtful;    /* an object was skipped: request a complete list soon */
    unsigned pause_ms;
    int said; /* kube_error + 1 of the last warning; 0: none */
};

void reflect_run(struct reflect *r, const volatile bool *stop);
void reflect_free(struct reflect *r);

/* Adds to a counter that other threads may read or add to. */
#define KUBE_COUNT(counter, n) ((void)__atomic_add_fetch(&(counter), (n), __ATOMIC_RELAXED))

/* Sleeps for that time, or until *stop. */
void reflect_wait(u64 ms, const volatile bool *stop);
/* Appends `s`, escaped for a URL's query: everything except letters, digits and -_.~ becomes %XX. */
void url_escape(struct buf *b, const char *s);
