#include "debug/debuginfod.h"
#include "debug/folder.h"
#include "base/stop.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/vec.h"
#include "net/http.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#define MAX_URLS    8
#define MAX_ENTRIES 4096
#define MAX_ID      40
#define CALL_MS     (10 * 60 * 1000)
#define IDLE_MS     10000
#define SHUN_NS     (60 * NS_PER_SEC)
#define ROOM_STEP   ((size_t)4 << 20)

enum state { WANTED, RUNNING, DONE };

struct entry {
    char id[MAX_ID + 1];
    enum state state;
    int error;    /* DONE: 0: it lies in the folder */
    u64 until_ns; /* DONE with an error: when it may be asked for again */
};

struct server {
    char *url;
    u64 shun_until_ns;
};

struct debuginfod {
    struct server servers[MAX_URLS];
    size_t nservers;
    struct proxy_config proxy; /* strings owned */
    struct folder folder;
    size_t max_file;
    unsigned idle_ms;
    u64 patience_ns;
    pthread_t thread;
    bool started;
    volatile bool stop;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    VEC(struct entry) entries;
    struct debuginfod_stats stats;
};

/* ---- Fetching: the thread's ------------------------------------------------------------------------------------- */

struct download {
    const struct folder *folder;
    const char *part;
    int fd, error;
    size_t bytes, max;
    size_t room; /* bytes for which there is room */
};

/* A file grows at the expense of others: a server need not say how long it is. The steps grow with it, so that a small
 * one does not cost others their place. */
static int make_room(struct download *to, size_t n)
{
    if (n > to->max - to->bytes)
        return -EFBIG;
    if (to->bytes + n <= to->room)
        return 0;
    size_t step = fs_disk_bytes(to->bytes < ROOM_STEP ? to->bytes : ROOM_STEP);
    step = step > n ? step : fs_disk_bytes(n);
    int rc = folder_make_room(to->folder, step, to->part);
    if (rc == -EFBIG)
        rc = folder_make_room(to->folder, step = fs_disk_bytes(n), to->part);
    if (!rc)
        to->room = fs_disk_bytes(to->bytes) + step;
    return rc;
}

static bool on_piece(void *ctx, const char *data, size_t n)
{
    struct download *to = ctx;
    to->error = make_room(to, n);
    if (!to->error)
        to->error = fs_write_all(to->fd, data, n);
    to->bytes += n;
    return !to->error;
}

/* From one server into the folder. */
static int download(struct debuginfod *d, struct http_client *client, const char *url, const char *id)
{
    char part[4096], path[4096], target[1024];
    folder_path(&d->folder, id, "", path);
    folder_path(&d->folder, id, FOLDER_PART, part);
    AUTO_CLOSE int fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct download to = {.folder = &d->folder, .part = part, .fd = fd, .max = d->max_file};
    snprintf(target, sizeof(target), "%s/buildid/%s/debuginfo", url, id);
    struct http_request r = {.method = "GET",
                             .url = target,
                             .timeout_ms = CALL_MS,
                             .idle_ms = d->idle_ms,
                             .max_stream = d->max_file,
                             .piece = on_piece,
                             .ctx = &to,
                             .stop = &d->stop};
    struct http_response answer;
    int rc = http_call(client, &r, &answer);
    int status = answer.status;
    http_response_free(&answer);
    if (rc == -EMSGSIZE && !to.error && status != 404)
        to.error = -EFBIG;
    if (to.error || status == 404) /* however long the page is that says so */
        rc = to.error ? to.error : -ENOENT;
    else if (!rc)
        rc = status / 100 == 2 && to.bytes ? 0 : -EPROTO;
    if (!rc && rename(part, path))
        rc = -errno;
    if (rc)
        unlink(part);
    return rc;
}

/* From the first server that has it. What a server says of the file counts more than that another cannot be asked. */
static int fetch(struct debuginfod *d, struct http_client *client, const char *id)
{
    int result = -ENOENT;
    for (size_t i = 0; i < d->nservers && !stop_requested(&d->stop); i++) {
        struct server *s = &d->servers[i];
        if (now_ns() < s->shun_until_ns) {
            result = -EHOSTUNREACH;
            continue;
        }
        int rc = download(d, client, s->url, id);
        if (!rc || rc == -EFBIG)
            return rc;
        if (rc != -ENOENT) {
            s->shun_until_ns = now_ns() + SHUN_NS;
            result = rc;
        }
    }
    return result;
}

static struct entry *find(struct debuginfod *d, const char *id)
{
    for (size_t i = 0; i < d->entries.n; i++)
        if (!strcmp(d->entries.v[i].id, id))
            return &d->entries.v[i];
    return NULL;
}

static void finish(struct debuginfod *d, const char *id, int rc)
{
    struct entry *e = find(d, id);
    d->stats.fetched += !rc;
    d->stats.missing += rc == -ENOENT;
    d->stats.too_large += rc == -EFBIG;
    d->stats.failed += rc && rc != -ENOENT && rc != -EFBIG;
    if (rc == -ENOENT)
        folder_note_missing(&d->folder, id);
    if (e) {
        e->state = DONE;
        e->error = rc;
        e->until_ns = now_ns() + (rc == -ENOENT || rc == -EFBIG ? FOLDER_FORGET_NS : SHUN_NS);
    }
    pthread_cond_broadcast(&d->changed);
}

static struct entry *next_wanted(struct debuginfod *d)
{
    for (size_t i = 0; i < d->entries.n; i++)
        if (d->entries.v[i].state == WANTED)
            return &d->entries.v[i];
    return NULL;
}

static void *run(void *arg)
{
    struct debuginfod *d = arg;
    CLEANUP(http_client_free) struct http_client *client = NULL;
    struct http_config config = {.proxy = d->proxy};
    int broken = http_client_new(&client, &config);
    pthread_setname_np(pthread_self(), "debuginfod");
    pthread_mutex_lock(&d->lock);
    while (!stop_requested(&d->stop)) {
        struct entry *e = next_wanted(d);
        char id[MAX_ID + 1];
        if (!e) {
            pthread_cond_wait(&d->changed, &d->lock);
            continue;
        }
        e->state = RUNNING;
        memcpy(id, e->id, sizeof(id));
        pthread_mutex_unlock(&d->lock);
        int rc = broken ? broken : fetch(d, client, id);
        pthread_mutex_lock(&d->lock);
        finish(d, id, rc);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* ---- The beginning and the end ---------------------------------------------------------------------------------- */

static int add_server(struct debuginfod *d, const char *url, size_t len)
{
    bool http = len > 7 && (!strncmp(url, "http://", 7) || (len > 8 && !strncmp(url, "https://", 8)));
    if (!http || len > 512 || d->nservers == MAX_URLS)
        return 0; /* file:// and the like are elfutils' own */
    while (len && url[len - 1] == '/')
        len--;
    char *copy = strndup(url, len);
    if (!copy)
        return -ENOMEM;
    d->servers[d->nservers++] = (struct server){.url = copy};
    return 0;
}

static int add_servers(struct debuginfod *d, const struct debuginfod_config *c)
{
    int rc = 0;
    for (size_t i = 0; i < c->nurls && !rc; i++)
        rc = add_server(d, c->urls[i], strlen(c->urls[i]));
    for (const char *at = c->nurls || !c->more ? "" : c->more; !rc && *at;) {
        size_t len = strcspn(at, " \t\n");
        if (len)
            rc = add_server(d, at, len);
        at += len + strspn(at + len, " \t\n");
    }
    return rc;
}

/* Options are freed when an agent reads its configuration again. */
static int copy_proxy(struct proxy_config *out, const struct proxy_config *c)
{
    *out = *c;
    out->url = c->url ? strdup(c->url) : NULL;
    out->except = c->except ? strdup(c->except) : NULL;
    return (c->url && !out->url) || (c->except && !out->except) ? -ENOMEM : 0;
}

int debuginfod_new(struct debuginfod **out, const struct debuginfod_config *c)
{
    *out = NULL;
    if (!c->nurls && (!c->more || !c->more[strspn(c->more, " \t\n")]))
        return 0;
    CLEANUP(debuginfod_free) struct debuginfod *d = calloc(1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    pthread_mutex_init(&d->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&d->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    d->idle_ms = c->idle_ms ? c->idle_ms : IDLE_MS;
    d->patience_ns = c->patience_ms * 1000000ull;
    int rc = add_servers(d, c);
    if (!rc && !d->nservers)
        rc = -EINVAL;
    if (!rc)
        rc = copy_proxy(&d->proxy, &c->proxy);
    if (!rc)
        rc = folder_open(&d->folder, c->dir, c->max_bytes);
    bool bounded = c->max_file && c->max_file < d->folder.max_bytes;
    d->max_file = bounded ? c->max_file : d->folder.max_bytes;
    if (!rc)
        rc = -pthread_create(&d->thread, NULL, run, d);
    if (rc)
        return rc;
    d->started = true;
    *out = TAKE_PTR(d);
    return 0;
}

void debuginfod_free(struct debuginfod **dd)
{
    struct debuginfod *d = *dd;
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    stop_request(&d->stop);
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    if (d->started)
        pthread_join(d->thread, NULL);
    folder_close(&d->folder);
    for (size_t i = 0; i < d->nservers; i++)
        free(d->servers[i].url);
    free((void *)(uintptr_t)d->proxy.url);
    free((void *)(uintptr_t)d->proxy.except);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    vec_free(&d->entries);
    free(d);
    *dd = NULL;
}

/* ---- Asking ----------------------------------------------------------------------------------------------------- */

static bool is_id(const char *id)
{
    size_t len = strlen(id);
    return len >= 4 && len <= MAX_ID && strspn(id, "0123456789abcdef") == len;
}

/* The entry of what somebody wants; an old failure is forgotten. NULL: there are too many. */
static struct entry *want(struct debuginfod *d, const char *id)
{
    struct entry *e = find(d, id);
    if (e && (e->state != DONE || (e->error && now_ns() < e->until_ns)))
        return e;
    for (size_t i = 0; !e && d->entries.n >= MAX_ENTRIES && i < d->entries.n; i++)
        e = d->entries.v[i].state == DONE ? &d->entries.v[i] : NULL;
    e = e || d->entries.n >= MAX_ENTRIES ? e : VEC_PUSH(&d->entries);
    if (!e)
        return NULL;
    *e = (struct entry){.state = WANTED};
    snprintf(e->id, sizeof(e->id), "%s", id);
    pthread_cond_broadcast(&d->changed);
    return e;
}

/* Waits for its end as long as there is patience left. With the lock. */
static int await(struct debuginfod *d, const char *id)
{
    u64 began = now_ns(), end = began + d->patience_ns;
    struct timespec until = {.tv_sec = (time_t)(end / NS_PER_SEC), .tv_nsec = (long)(end % NS_PER_SEC)};
    struct entry *e;
    int late = 0;
    while ((e = find(d, id)) && e->state != DONE && !late && d->patience_ns)
        late = pthread_cond_timedwait(&d->changed, &d->lock, &until);
    u64 waited = now_ns() - began;
    d->patience_ns -= waited < d->patience_ns ? waited : d->patience_ns;
    return !e || e->state != DONE ? -EINPROGRESS : e->error;
}

int debuginfod_get(struct debuginfod *d, const char *id)
{
    if (!is_id(id))
        return -EINVAL;
    int fd = folder_open_file(&d->folder, id);
    if (fd >= 0)
        return fd;
    if (folder_is_missing(&d->folder, id))
        return -ENOENT;
    pthread_mutex_lock(&d->lock);
    int rc = want(d, id) ? await(d, id) : -EINPROGRESS;
    pthread_mutex_unlock(&d->lock);
    return rc ? rc : folder_open_file(&d->folder, id);
}

void debuginfod_drop(struct debuginfod *d, const char *id)
{
    char path[4096];
    if (!is_id(id))
        return;
    folder_path(&d->folder, id, "", path);
    unlink(path);
    folder_note_missing(&d->folder, id);
    pthread_mutex_lock(&d->lock);
    d->stats.lied++;
    pthread_mutex_unlock(&d->lock);
}

void debuginfod_stats(struct debuginfod *d, struct debuginfod_stats *out)
{
    pthread_mutex_lock(&d->lock);
    *out = d->stats;
    pthread_mutex_unlock(&d->lock);
}
