#include "pipeline/heaps_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/closer.h"
#include "base/queue.h"
#include "proc/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define EVENTS_MAX  4096
#define TICK_MS     1000  /* between two looks at who has ended, if none is seen to begin; otherwise */
#define SWEEP_MS    100   /* and in addition */
#define SWEEP_TIMES 50    /* as long as a look takes */
#define TABLES_MS   10000 /* for those of the files of a process that is stopped */
#define OTHERS_MS   20000 /* for others that attach to a process that is stopped */
#define SETTLE_US   1000
#define MS          1000000ull

/* ---- Processes --------------------------------------------------------------------------------------------------- */

/* That its probes are gone is waited for only if they may still be hit: its place is another's then. */
static void detach(struct heaps *h, struct followed *f, bool lives)
{
    for (size_t i = 0; i < PROBE_HEAP_LINKS && !lives; i++)
        while (f->links.fds[i].n)
            closer_put(h->closer, f->links.fds[i].v[--f->links.fds[i].n]);
    probe_heap_detach(&f->links, heaps_parts(HEAP_ALL));
    heap_files_give(&h->files, f->file);
}

static void leave(struct heaps *h, struct process *p, bool lives, enum xp_heap_gone blocks)
{
    probe_heap_gone(h->probe, h->event, p->place, blocks, 0);
    heaps_add(p->cost.watch == HEAP_ALL ? &h->figures.watched_ns : &h->figures.rested_ns, now_ns() - p->cost.looked_ns);
    for (size_t i = 0; i < p->files.n; i++)
        detach(h, &p->files.v[i], lives);
    h->taken[p->place] = 0;
    vec_free(&p->files);
    if (h->go)
        go_heaps_leave(h->go, p->tgid);
}

static struct process *process_of(struct heaps *h, u32 tgid)
{
    u32 place = 1;
    for (size_t i = 0; i < h->processes.n; i++)
        if (h->processes.v[i].tgid == tgid)
            return &h->processes.v[i];
    while (place < XP_HEAP_PROCESSES && h->taken[place])
        place++;
    u64 start = proc_start_ticks(tgid);
    struct process *p = start && place < XP_HEAP_PROCESSES ? VEC_PUSH(&h->processes) : NULL;
    if (!p)
        return NULL;
    *p = (struct process){.tgid = tgid, .place = place, .start = start};
    heap_cost_init(&p->cost, h->config.max_cost, heaps_cpu_ns(tgid), now_ns());
    h->taken[place] = 1;
    probe_heap_begin(h->probe, h->event, place);
    return p;
}

/* What a process has mapped. It needs a place if there is something to follow in it. */
static void meet(struct heaps *h, const struct xp_listed *l, bool held)
{
    const struct xp_mapping *m = &l->at;
    struct known_file *f = heap_files_know(&h->files, l);
    if (f && f->remote)
        heaps_say_remote(h, f, l);
    if (f && f->without)
        heaps_say_without(h, f, l);
    if (!f || (f->fd < 0 && !f->go.found))
        return;
    struct process *p = process_of(h, m->tgid);
    if (!p) {
        heaps_add(&h->figures.refused, 1);
        return;
    }
    if (f->go.found)
        heaps_go_follow(h, m, &f->go);
    if (f->fd >= 0)
        heaps_follow(h, p, f, held);
}

/* The listing announces the files: a process that is stopped waits for their tables, too, so that its first stacks need
 * not be unwound later. */
static void await_tables(const struct heaps *h, const probe_mappings *list)
{
    u64 deadline = now_ns() + TABLES_MS * MS;
    for (size_t i = 0; i < list->n && now_ns() < deadline && !heaps_ending(h);)
        if (list->v[i].at.file < XP_FILE_FIRST || probe_published(h->probe, list->v[i].at.file))
            i++;
        else
            usleep(SETTLE_US);
}

static void see(struct heaps *h, const struct xp_mapped_event *e)
{
    probe_mappings list = {0};
    heap_files_prepare(&h->files); /* not before somebody wants it: most agents are never asked */
    if (!probe_list_mappings(h->probe, e->tgid, &list)) {
        for (size_t i = 0; i < list.n && !heaps_ending(h); i++)
            if (list.v[i].at.file >= XP_FILE_FIRST)
                meet(h, &list.v[i], e->held);
        if (e->held)
            await_tables(h, &list);
    }
    vec_free(&list);
}

static bool is_one_of(const probe_processes *all, u32 tgid)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i].tgid == tgid)
            return true;
    return false;
}

/* Leaves the processes that have ended, or (unless NULL) are not among those that are wanted. */
static void leave_others(struct heaps *h, const probe_processes *wanted)
{
    size_t n = 0;
    for (size_t i = 0; i < h->processes.n; i++) {
        struct process *p = &h->processes.v[i];
        bool lives = proc_start_ticks(p->tgid) == p->start;
        if (lives && (!wanted || is_one_of(wanted, p->tgid)))
            h->processes.v[n++] = *p;
        else
            leave(h, p, lives, lives ? XP_GONE_FREED : XP_GONE_SILENTLY);
    }
    h->processes.n = n;
}

/* What probes cost, when it is time to. */
static void look(struct heaps *h)
{
    u64 now = now_ns();
    if (now - h->looked_ns < heaps_pause_ms(h) * MS)
        return;
    h->looked_ns = now;
    heaps_look(h);
    heaps_look_for_leaks(h, false);
}

/* Looks at all processes that are wanted by now. */
static void see_all(struct heaps *h)
{
    probe_processes wanted = {0};
    u32 wants = probe_heap_wants(h->probe);
    if (!probe_heap_wanted(h->probe, h->event, &wanted)) {
        h->wants = wants;
        leave_others(h, &wanted);
        for (size_t i = 0; i < wanted.n && !heaps_ending(h); i++) {
            if (wanted.v[i].tgid == (u32)getpid()) /* its own calls would cause others */
                continue;
            see(h, &(struct xp_mapped_event){.tgid = wanted.v[i].tgid});
            look(h); /* there may be many, and those that are followed already cost something */
        }
    }
    vec_free(&wanted);
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* Where processes begin, processes end: their probes would pile up, and a program that is killed while it has many
 * takes tens of milliseconds to be rid of each. */
static void leave_ended(struct heaps *h, u64 now)
{
    leave_others(h, NULL);
    h->seen = false;
    h->swept_ns = now + SWEEP_MS * MS + SWEEP_TIMES * (now_ns() - now);
}

/* What is due by now. */
static void tick(struct heaps *h)
{
    u64 now = now_ns();
    look(h);
    if (h->go)
        go_heaps_look(h->go, false);
    if (h->seen && now >= h->swept_ns)
        leave_ended(h, now);
    if (now - h->ticked_ns < TICK_MS * MS)
        return;
    h->ticked_ns = now;
    leave_others(h, NULL);
    heaps_retry(h);
    if (h->wants != probe_heap_wants(h->probe) || __atomic_exchange_n(&h->missed, false, __ATOMIC_RELAXED))
        see_all(h);
    if (!h->leaks && now >= h->forget_ns) /* those of programs that have ended may have leaked */
        heaps_forget(h);
    __atomic_store_n(&h->figures.processes, h->processes.n, __ATOMIC_RELAXED);
}

static void let_go(const struct xp_mapped_event *e)
{
    if (e->held == XP_HELD)
        kill((pid_t)e->tgid, SIGCONT);
}

/* Others are told of a process that is stopped. */
static void tell_others(struct heaps *h, const struct xp_mapped_event *e)
{
    struct xp_mapped_event told = *e;
    told.held = XP_HELD_BY_OTHER;
    for (size_t i = 0; e->held == XP_HELD && i < h->led.n; i++)
        heaps_put(h->led.v[i], &told);
}

/* It goes on once they have attached to it. */
static void await_others(struct heaps *h, const struct xp_mapped_event *e)
{
    u64 deadline = now_ns() + OTHERS_MS * MS;
    for (size_t i = 0; e->held == XP_HELD && i < h->led.n; i++)
        while (!heaps_settled(h->led.v[i]) && !heaps_ending(h) && !heaps_ending(h->led.v[i]) && now_ns() < deadline)
            usleep(SETTLE_US);
}

/* The program of before is gone. */
static void replace(struct heaps *h, const struct xp_mapped_event *e)
{
    enum xp_heap_gone how = h->config.neighbours ? XP_GONE_FREED : XP_GONE_SILENTLY;
    if (h->go)
        go_heaps_leave(h->go, e->tgid);
    for (size_t i = 0; i < h->processes.n; i++)
        if (h->processes.v[i].tgid == e->tgid)
            probe_heap_gone(h->probe, h->event, h->processes.v[i].place, how, e->space);
}

static void *run(void *heaps)
{
    struct heaps *h = heaps;
    h->ticked_ns = h->looked_ns = now_ns();
    pthread_setname_np(pthread_self(), "heaps");
    for (;;) {
        struct xp_mapped_event *e = queue_get(h->queue, (int)heaps_pause_ms(h));
        if (!e && queue_closed(h->queue))
            break;
        if (e)
            tell_others(h, e);
        if (e && e->tgid && !e->start)
            replace(h, e);
        h->seen |= e != NULL;
        if (e && !heaps_ending(h))
            e->tgid ? see(h, e) : see_all(h);
        if (e) {
            await_others(h, e);
            let_go(e);
            free(e);
            __atomic_add_fetch(&h->done, 1, __ATOMIC_RELEASE);
        }
        tick(h);
    }
    heaps_look_for_leaks(h, true);
    if (h->go)
        go_heaps_look(h->go, true);
    heap_files_rest(&h->files);
    return NULL;
}

int heaps_new(struct heaps **out, const struct heaps_config *config)
{
    CLEANUP(heaps_free) struct heaps *h = calloc(1, sizeof(*h));
    if (!h)
        return -ENOMEM;
    h->config = *config;
    h->probe = config->probe;
    h->event = config->event;
    h->prices = (struct probe_heap_hits)HEAP_PRICES_STATED;
    int rc = closer_new(&h->closer);
    if (!rc)
        rc = heap_files_init(&h->files, config->read, config->hung);
    h->files.named = config->named;
    if (!rc && config->old_ns)
        rc = leaks_new(&h->leaks);
    if (!rc && config->go)
        rc = heaps_go_new(h, config->go == HEAPS_GO_SINCE_START);
    if (!rc)
        rc = queue_new(&h->queue, EVENTS_MAX);
    if (!rc)
        rc = -pthread_create(&h->thread, NULL, run, h);
    h->runs = !rc;
    if (!rc)
        *out = TAKE_PTR(h);
    return rc;
}

void heaps_free(struct heaps **hh)
{
    struct heaps *h = *hh;
    if (!h)
        return;
    heaps_stop(h);
    queue_free(&h->queue);
    heap_files_free(&h->files);
    go_heaps_free(&h->go);
    leaks_free(&h->leaks);
    vec_free(&h->found);
    vec_free(&h->led);
    free(h);
    *hh = NULL;
}

int heaps_lead(struct heaps *h, struct heaps *other)
{
    struct heaps **place = VEC_PUSH(&h->led);
    if (place)
        *place = other;
    return place ? 0 : -ENOMEM;
}

void heaps_put(struct heaps *h, const struct xp_mapped_event *e)
{
    struct xp_mapped_event *copy = malloc(sizeof(*copy));
    if (copy)
        *copy = *e;
    __atomic_add_fetch(&h->put, 1, __ATOMIC_RELAXED);
    if (copy && !queue_put(h->queue, copy))
        return;
    __atomic_sub_fetch(&h->put, 1, __ATOMIC_RELAXED);
    heaps_add(&h->figures.refused, 1);
    __atomic_store_n(&h->missed, true, __ATOMIC_RELAXED);
    let_go(e);
    free(copy);
}

bool heaps_settled(const struct heaps *h)
{
    return __atomic_load_n(&h->done, __ATOMIC_ACQUIRE) >= __atomic_load_n(&h->put, __ATOMIC_RELAXED);
}

void heaps_stop(struct heaps *h)
{
    probe_heap_end(h->probe, h->event);
    __atomic_store_n(&h->ending, true, __ATOMIC_RELAXED);
    if (h->queue)
        queue_close(h->queue);
    if (h->runs)
        pthread_join(h->thread, NULL);
    h->runs = false;
    for (struct xp_mapped_event *e; h->queue && (e = queue_get(h->queue, 0)); free(e))
        let_go(e);
    for (size_t i = 0; i < h->processes.n; i++)
        leave(h, &h->processes.v[i], false, XP_GONE_SILENTLY);
    vec_free(&h->processes);
    closer_free(&h->closer);
}

void heaps_figures(struct heaps *h, struct heaps_figures *out)
{
    figures_copy(out, &h->figures, sizeof(*out));
    out->files = __atomic_load_n(&h->files.found, __ATOMIC_RELAXED);
    out->failed += __atomic_load_n(&h->files.failed, __ATOMIC_RELAXED);
    out->without = __atomic_load_n(&h->files.without, __ATOMIC_RELAXED);
    out->remote = __atomic_load_n(&h->files.remote, __ATOMIC_RELAXED);
    out->left_out = __atomic_load_n(&h->files.left_out, __ATOMIC_RELAXED);
}

const leaks_list *heaps_leaks(const struct heaps *h)
{
    return h->leaks ? &h->found : NULL;
}
