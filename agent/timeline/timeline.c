#include "timeline/timeline.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "probe/timeline.h"
#include "timeline/writer.h"
#include <errno.h>
#include <string.h>

struct timeline {
    struct timeline_probe *probe;
    struct tl_store *store;
    struct tl_causes *causes;
    struct map wanted; /* processes; only if the target is a list of them */
    bool by_pid;
    u64 begin, end;
    u64 start_ns; /* when it began, Unix time */
    size_t budget;
    int rc; /* the first error while records are passed */
};

static bool is_wanted(const struct timeline *t, u32 tgid, bool said)
{
    return t->by_pid ? map_get(&t->wanted, tgid) != NULL : said;
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static void describe(struct timeline *t, u32 row, const struct xp_tl_task *task)
{
    struct tl_thread *thread = row ? store_row(t->store, row) : NULL;
    if (!thread)
        return;
    thread->tgid = task->tgid;
    memcpy(thread->comm, task->comm, sizeof(thread->comm));
    memcpy(thread->process, task->process, sizeof(thread->process));
    thread->comm[sizeof(thread->comm) - 1] = thread->process[sizeof(thread->process) - 1] = 0;
    thread->wanted |= is_wanted(t, task->tgid, task->wanted);
}

static void on_event(void *ctx, const struct xp_tl_event *e)
{
    struct timeline *t = ctx;
    struct xp_tl_event event = *e;
    if (e->type == XP_TL_WAKING && e->stack >= 0 && causes_interrupt(t->causes, (u32)e->stack))
        event.flags |= XP_TL_INTERRUPT;
    int rc = store_event(t->store, &event);
    t->rc = t->rc ? t->rc : rc;
}

/* A child is wanted if its parent is. */
static void on_task(void *ctx, const struct xp_tl_task *task)
{
    struct timeline *t = ctx;
    u32 row =
        task->parent ? store_born(t->store, task->tid, task->time) : store_thread(t->store, task->tid, task->time);
    if (t->by_pid && task->parent && map_get(&t->wanted, task->parent) && !map_put(&t->wanted, task->tgid))
        t->rc = -ENOMEM;
    describe(t, row, task);
}

static void on_listed(void *ctx, const struct xp_tl_listed *l)
{
    struct timeline *t = ctx;
    u32 row = store_thread(t->store, l->task.tid, l->task.time);
    describe(t, row, &l->task);
    store_listed(t->store, row, l);
}

static struct timeline_handlers handlers(struct timeline *t)
{
    return (struct timeline_handlers){t, on_event, on_task, on_listed};
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

int timeline_new(struct timeline **out, const struct timeline_config *config, char *why, size_t len)
{
    struct timeline *t = calloc(1, sizeof(*t));
    snprintf(why, len, "out of memory");
    if (!t)
        return -ENOMEM;
    t->by_pid = config->pids != NULL;
    t->budget = config->bytes;
    int rc = 0;
    for (size_t i = 0; i < config->npids && !rc; i++)
        rc = map_put(&t->wanted, config->pids[i]) ? 0 : -ENOMEM;
    if (!rc)
        rc = timeline_probe_new(&t->probe, config->cgroup, config->cgroup_subsys, why, len);
    if (!rc)
        rc = causes_new(&t->causes, t->probe);
    if (rc)
        timeline_free(&t);
    else
        *out = t;
    return rc;
}

void timeline_free(struct timeline **t)
{
    if (!*t)
        return;
    causes_free(&(*t)->causes);
    timeline_probe_free(&(*t)->probe);
    store_free(&(*t)->store);
    map_free(&(*t)->wanted);
    free(TAKE_PTR(*t));
}

int timeline_start(struct timeline *t, char *why, size_t len)
{
    struct timeline_handlers h = handlers(t);
    t->start_ns = clock_ns(CLOCK_REALTIME);
    t->begin = now_ns();
    int rc = store_new(&t->store, (u32)timeline_probe_cpus(t->probe), t->begin, t->budget);
    if (rc) {
        snprintf(why, len, "out of memory");
        return rc;
    }
    rc = timeline_probe_start(t->probe, &h, why, len);
    store_all_listed(t->store);
    return rc;
}

int timeline_poll(struct timeline *t)
{
    struct timeline_handlers h = handlers(t);
    int rc = timeline_probe_poll(t->probe, &h);
    return t->rc ? t->rc : rc;
}

void timeline_stop(struct timeline *t)
{
    if (!t->store || t->end)
        return;
    t->end = now_ns();
    timeline_probe_stop(t->probe);
    timeline_poll(t);
}

int timeline_write(struct timeline *t, enum timeline_format format, struct profile *p, struct timeline_sink sink)
{
    struct tl_view v = {.store = t->store, .causes = t->causes, .profile = p, .end = t->end, .sink = sink};
    v.begin = store_machine(t->store)->begin;
    v.start_ns = t->start_ns + (v.begin - t->begin);
    int rc = samples_init(&v.samples, p, v.begin);
    if (!rc)
        rc = format == TIMELINE_TRACE ? trace_write(&v) : firefox_write(&v);
    samples_free(&v.samples);
    buf_free(&v.buf);
    return rc;
}

void timeline_report(const struct timeline *t, struct timeline_report *out)
{
    struct tl_figures f = store_figures(t->store);
    u64 begin = store_machine(t->store)->begin;
    *out = (struct timeline_report){
        .switches = f.switches,
        .wakeups = f.wakeups,
        .lost = timeline_probe_lost(t->probe),
        .dropped = f.dropped,
        .left_out = f.left_out,
        .bytes = f.bytes,
        .seconds = t->end > begin ? (double)(t->end - begin) / 1e9 : 0,
        .threads = store_rows(t->store) - 1,
        .cpus = store_machine(t->store)->ncpus,
    };
}
