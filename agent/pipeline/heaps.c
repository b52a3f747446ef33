#include "pipeline/heaps_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/queue.h"
#include "proc/proc.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define EVENTS_MAX 4096
#define TICK_MS    1000  /* between two looks at who has ended */
#define TABLES_MS  10000 /* for those of the files of a process that is stopped */
#define SETTLE_US  1000
#define CALLS_US   50000 /* calls of allocators take less */
#define MS         1000000ull

/* ---- Processes --------------------------------------------------------------------------------------------------- */

static void leave(struct heaps *h, struct process *p)
{
    heaps_add(p->cost.watch == HEAP_ALL ? &h->figures.watched_ns : &h->figures.rested_ns, now_ns() - p->cost.looked_ns);
    for (size_t i = 0; i < p->files.n; i++) {
        probe_heap_detach(&p->files.v[i].links, heaps_parts(HEAP_ALL));
        heap_files_give(&h->files, p->files.v[i].file);
    }
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

static bool follows(const struct process *p, u32 file)
{
    for (size_t i = 0; i < p->files.n; i++)
        if (p->files.v[i].file == file)
            return true;
    return false;
}

/* While one of its functions is followed and another is not yet, a process that runs does what is not seen: what was
 * known of it before is not worth anything. Nor is it until calls that had begun before have come to their end. One
 * that is stopped, and only by us, does nothing. */
static int attach_strictly(struct heaps *h, const struct process *p, const struct known_file *f,
                           struct probe_heap_links *links, bool held)
{
    if (!held)
        probe_heap_rest(h->probe, h->event, p->place, true);
    int rc = heaps_attach(h, p, f, links);
    if (!held) {
        usleep(CALLS_US);
        probe_heap_rest(h->probe, h->event, p->place, false);
    }
    return rc;
}

static void follow(struct heaps *h, struct process *p, const struct xp_mapping *m, bool held)
{
    if (follows(p, m->file))
        return;
    struct known_file *f = heap_files_know(&h->files, m);
    if (f && f->go.found)
        heaps_go_follow(h, m, &f->go);
    struct followed *place = f && f->fd >= 0 ? VEC_PUSH(&p->files) : NULL;
    if (!place)
        return;
    f->users++;
    *place = (struct followed){.file = m->file, .links = PROBE_HEAP_LINKS_NONE};
    int rc = h->config.strict ? attach_strictly(h, p, f, &place->links, held) : heaps_attach(h, p, f, &place->links);
    heaps_add(rc ? &h->figures.failed : &h->figures.attached, 1);
}

/* The listing announces the files: a process that is stopped waits for their tables, too, so that its first stacks need
 * not be unwound later. */
static void await_tables(const struct heaps *h, const probe_mappings *list)
{
    u64 deadline = now_ns() + TABLES_MS * MS;
    for (size_t i = 0; i < list->n && now_ns() < deadline && !heaps_ending(h);)
        if (list->v[i].file < XP_FILE_FIRST || probe_published(h->probe, list->v[i].file))
            i++;
        else
            usleep(SETTLE_US);
}

static void see(struct heaps *h, const struct xp_mapped_event *e)
{
    probe_mappings list = {0};
    heap_files_prepare(&h->files); /* not before somebody wants it: most agents are never asked */
    if (!probe_list_mappings(h->probe, e->tgid, &list)) {
        for (size_t i = 0; i < list.n && !heaps_ending(h); i++) {
            const struct xp_mapping *m = &list.v[i];
            struct process *p = m->file >= XP_FILE_FIRST ? process_of(h, m->tgid) : NULL;
            if (p)
                follow(h, p, m, e->held && !h->config.beside);
        }
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
        if (proc_start_ticks(p->tgid) == p->start && (!wanted || is_one_of(wanted, p->tgid)))
            h->processes.v[n++] = *p;
        else
            leave(h, p);
    }
    h->processes.n = n;
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
        }
    }
    vec_free(&wanted);
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* What is due by now. */
static void tick(struct heaps *h)
{
    u64 now = now_ns();
    if (now - h->looked_ns >= heaps_pause_ms(h) * MS) {
        h->looked_ns = now;
        heaps_look(h);
        heaps_look_for_leaks(h, false);
    }
    if (h->go)
        go_heaps_look(h->go, false);
    if (now - h->ticked_ns < TICK_MS * MS)
        return;
    h->ticked_ns = now;
    leave_others(h, NULL);
    if (h->wants != probe_heap_wants(h->probe))
        see_all(h);
    __atomic_store_n(&h->figures.processes, h->processes.n, __ATOMIC_RELAXED);
}

static void let_go(const struct xp_mapped_event *e)
{
    if (e->held)
        kill((pid_t)e->tgid, SIGCONT);
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
        if (e && e->tgid && !e->start && h->go) /* the program of before is gone */
            go_heaps_leave(h->go, e->tgid);
        if (e && !heaps_ending(h))
            e->tgid ? see(h, e) : see_all(h);
        if (e) {
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
    int rc = heap_files_init(&h->files, config->read, config->hung);
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
    free(h);
    *hh = NULL;
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
    let_go(e);
    free(copy);
}

void heaps_settle(struct heaps *h, u64 deadline_ns)
{
    while (__atomic_load_n(&h->done, __ATOMIC_ACQUIRE) < __atomic_load_n(&h->put, __ATOMIC_RELAXED) &&
           now_ns() < deadline_ns)
        usleep(SETTLE_US);
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
        leave(h, &h->processes.v[i]);
    vec_free(&h->processes);
}

void heaps_figures(struct heaps *h, struct heaps_figures *out)
{
    figures_copy(out, &h->figures, sizeof(*out));
    out->files = __atomic_load_n(&h->files.found, __ATOMIC_RELAXED);
    out->failed += __atomic_load_n(&h->files.failed, __ATOMIC_RELAXED);
}

const leaks_list *heaps_leaks(const struct heaps *h)
{
    return h->leaks ? &h->found : NULL;
}
