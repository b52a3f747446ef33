#include "export/export.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "export/spool.h"
#include "export/target.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SPOOL_BYTES  (256ull << 20)
#define MEMORY_BYTES (16ull << 20)
#define SPOOL_AGE_NS (24 * 3600 * NS_PER_SEC)
#define REPLAY_RATE  (1ull << 20)

enum { FLUSH_POLL_MS = 10 };

struct target_list {
    struct target *v[EXPORT_MAX_TARGETS];
    size_t n;
};

struct exports {
    struct spool *spool;       /* has locks of its own */
    pthread_mutex_t put_lock;  /* held while a profile is put, that is, while the disk is waited for */
    struct buf record;         /* used again by every put */
    pthread_mutex_t list_lock; /* taken by who reads the list without the other lock, and by who replaces it */
    struct target_list targets;
    u64 refused; /* atomic */
    bool told;   /* the spool's error; of who calls exports_news */
};

static void unlock(pthread_mutex_t *const *lock)
{
    pthread_mutex_unlock(*lock);
}

/* Until the end of the block. */
#define HOLD(lock)                                \
    pthread_mutex_t *held CLEANUP(unlock) = lock; \
    pthread_mutex_lock(held)

static void free_targets(struct target_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        target_free(&l->v[i]);
    l->n = 0;
}

static struct spool_config spool_config_of(const struct export_config *c)
{
    return (struct spool_config){.dir = c->spool_dir,
                                 .max_bytes = c->spool_bytes ? c->spool_bytes : SPOOL_BYTES,
                                 .max_age_ns = c->spool_age_ns ? c->spool_age_ns : SPOOL_AGE_NS,
                                 .memory_bytes = c->memory_bytes ? c->memory_bytes : MEMORY_BYTES,
                                 .sync_each = c->sync == EXPORT_SYNC_EACH};
}

static struct target *find_target(const struct target_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(target_name(l->v[i]), name) == 0)
            return l->v[i];
    return NULL;
}

static int make_targets(struct target_list *out, const struct export_config *c, char *why, size_t size)
{
    struct target_list list CLEANUP(free_targets) = {0};
    struct target_limits limits = {c->replay_bytes_per_s ? c->replay_bytes_per_s : REPLAY_RATE};
    if (c->ntargets > EXPORT_MAX_TARGETS) {
        snprintf(why, size, "more than %d targets", EXPORT_MAX_TARGETS);
        return -EINVAL;
    }
    for (size_t i = 0; i < c->ntargets; i++) {
        if (c->targets[i].name && find_target(&list, c->targets[i].name)) {
            snprintf(why, size, "two targets have the name %s", c->targets[i].name);
            return -EINVAL;
        }
        int rc = target_new(&list.v[list.n], &c->targets[i], &limits, why, size);
        if (rc)
            return rc;
        list.n++;
    }
    *out = list;
    list.n = 0;
    return 0;
}

static int start_targets(struct exports *e, const struct target_list *list, const struct target_list *before, char *why,
                         size_t size)
{
    for (size_t i = 0; i < list->n; i++) {
        struct target *t = list->v[i];
        int rc = target_start(t, e->spool, before ? find_target(before, target_name(t)) : NULL);
        if (rc) {
            snprintf(why, size, "%s: %s", target_name(t), strerror(-rc));
            return rc;
        }
    }
    return 0;
}

int exports_new(struct exports **out, const struct export_config *config, char *why, size_t size)
{
    struct exports *e CLEANUP(exports_free) = calloc(1, sizeof(*e));
    struct spool_config spool = spool_config_of(config);
    if (!e)
        return -ENOMEM;
    pthread_mutex_init(&e->put_lock, NULL);
    pthread_mutex_init(&e->list_lock, NULL);
    snprintf(why, size, "out of memory");
    int rc = make_targets(&e->targets, config, why, size);
    if (rc)
        return rc;
    rc = spool_new(&e->spool, &spool);
    if (rc == -EBUSY)
        snprintf(why, size, "%s: another agent uses this spool", config->spool_dir);
    rc = rc ? rc : start_targets(e, &e->targets, NULL, why, size);
    if (rc)
        return rc;
    *out = TAKE_PTR(e);
    return 0;
}

int exports_check(const struct export_config *config, char *why, size_t size)
{
    struct target_list list CLEANUP(free_targets) = {0};
    struct export_target targets[EXPORT_MAX_TARGETS];
    struct export_config c = *config;
    for (size_t i = 0; i < c.ntargets && i < EXPORT_MAX_TARGETS; i++) {
        targets[i] = config->targets[i];
        targets[i].ca_file = targets[i].cert_file = targets[i].key_file = NULL;
    }
    c.targets = targets;
    snprintf(why, size, "out of memory");
    return make_targets(&list, &c, why, size);
}

void exports_free(struct exports **e)
{
    if (!*e)
        return;
    free_targets(&(*e)->targets);
    spool_free(&(*e)->spool);
    buf_free(&(*e)->record);
    pthread_mutex_destroy(&(*e)->list_lock);
    pthread_mutex_destroy(&(*e)->put_lock);
    free(*e);
    *e = NULL;
}

int exports_put(struct exports *e, const struct export_item *item)
{
    HOLD(&e->put_lock);
    e->record.len = 0;
    e->record.failed = false;
    int rc = record_encode(item, &e->record);
    rc = rc ? rc : spool_put(e->spool, e->record.data, e->record.len, clock_ns(CLOCK_REALTIME));
    __atomic_fetch_add(&e->refused, rc != 0, __ATOMIC_RELAXED);
    for (size_t i = 0; !rc && i < e->targets.n; i++)
        target_wake(e->targets.v[i]);
    return rc;
}

static bool all_idle(const struct exports *e)
{
    for (size_t i = 0; i < e->targets.n; i++)
        if (!target_idle(e->targets.v[i]))
            return false;
    return true;
}

int exports_flush(struct exports *e, unsigned timeout_ms)
{
    u64 end = now_ns() + timeout_ms * 1000000ull;
    bool idle;
    for (size_t i = 0; i < e->targets.n; i++)
        target_flush(e->targets.v[i], true);
    while (!(idle = all_idle(e)) && now_ns() < end)
        usleep(FLUSH_POLL_MS * 1000);
    for (size_t i = 0; i < e->targets.n; i++)
        target_flush(e->targets.v[i], false);
    return idle ? 0 : -ETIMEDOUT;
}

static void stop_targets(const struct target_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        target_stop(l->v[i]);
}

/* The places in the spool of those that are not in the other list. */
static void forget_missing(const struct target_list *l, const struct target_list *other)
{
    for (size_t i = 0; i < l->n; i++)
        if (!find_target(other, target_name(l->v[i])))
            target_forget(l->v[i]);
}

/* Two of one name cannot run at the same time: they share a place in the spool. Nothing is given up before all run. */
int exports_reconfigure(struct exports *e, const struct export_config *config, char *why, size_t size)
{
    struct target_list after CLEANUP(free_targets) = {0}, before;
    struct spool_config spool = spool_config_of(config);
    char again[128];
    snprintf(why, size, "out of memory");
    int rc = make_targets(&after, config, why, size);
    if (rc)
        return rc;
    HOLD(&e->put_lock);
    before = e->targets;
    stop_targets(&before);
    rc = start_targets(e, &after, &before, why, size);
    if (rc) {
        stop_targets(&after);
        forget_missing(&after, &before);
        start_targets(e, &before, NULL, again, sizeof(again));
        return rc;
    }
    forget_missing(&before, &after);
    spool_limits(e->spool, &spool);
    pthread_mutex_lock(&e->list_lock);
    e->targets = after;
    pthread_mutex_unlock(&e->list_lock);
    after = before; /* to be freed */
    return 0;
}

bool exports_stats(struct exports *e, size_t i, struct export_stats *out)
{
    HOLD(&e->list_lock);
    if (i < e->targets.n)
        target_stats(e->targets.v[i], out);
    return i < e->targets.n;
}

void exports_spool_stats(struct exports *e, struct export_spool_stats *out)
{
    struct spool_stats s;
    spool_stats(e->spool, &s);
    *out = (struct export_spool_stats){.put = s.put,
                                       .put_bytes = s.put_bytes,
                                       .refused = __atomic_load_n(&e->refused, __ATOMIC_RELAXED),
                                       .disk_bytes = s.disk_bytes,
                                       .memory_bytes = s.memory_bytes,
                                       .segments = s.segments,
                                       .corrupt = s.corrupt,
                                       .disk_errors = s.disk_errors};
    snprintf(out->error, sizeof(out->error), "%s", s.error);
}

bool exports_news(struct exports *e, char *line, size_t size)
{
    struct spool_stats s;
    HOLD(&e->list_lock);
    spool_stats(e->spool, &s);
    bool told = e->told;
    e->told = *s.error != 0;
    if (e->told && !told) {
        snprintf(line, size, "spool: %s", s.error);
        return true;
    }
    for (size_t i = 0; i < e->targets.n; i++)
        if (target_news(e->targets.v[i], line, size))
            return true;
    return false;
}
