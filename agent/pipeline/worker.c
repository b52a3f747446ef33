#include "pipeline/worker_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "files/machine_memory.h"
#include "opener/hung.h"
#include "opener/opener.h"
#include "parser/parser.h"
#include "pipeline/sleepers.h"
#include "pipeline/usage.h"
#include "runtime/runtime.h"
#include <errno.h>

#define DEFERRED_AGE_MS 150 /* long enough for the files that a deferred stack announced to be opened and built */
#define IDLE_MS         20
#define TICK_MS         500
#define BUILDS_NS       (5 * NS_PER_SEC) /* the time for building files in the first interval; later, a quarter of one */
#define CODE_AGE_NS     (5 * NS_PER_SEC)

/* At the end, nobody waits for samples any more. */
static bool return_stack(void *jobs, struct xp_sample *stack)
{
    if (stack->type == XP_RECORD_SAMPLE && jobs_ended(jobs))
        return false;
    jobs_return_stack(jobs, stack);
    return true;
}

static bool find_machine(void *worker, u32 tgid, u64 start, struct xp_machine *out)
{
    const struct worker *w = worker;
    return machines_find(w->machines, tgid, start, out);
}

static int read_process(void *worker, const struct xp_sample *s, u64 at, void *to, size_t len)
{
    const struct worker *w = worker;
    return opener_sample_memory(w->config.opener, w->config.hung, s, at, to, len);
}

int worker_new(struct worker **out, const struct worker_config *config)
{
    CLEANUP(worker_free) struct worker *w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    w->config = *config;
    w->backlog.shares.limit = BACKLOG_MAX;
    if (files_new(&w->files, config->probe, config->parser, config->cache, !config->no_synth) ||
        code_tables_new(&w->code, config->probe, config->neighbours) ||
        machines_new(&w->machines, config->probe, config->neighbours) ||
        deferred_new(&w->deferred, config->probe, w->files) ||
        aggregate_new(&w->deferred_stacks, config->names.nevents, config->aggregate_bytes / 8))
        return -ENOMEM;
    aggregate_keep_times(w->deferred_stacks, config->timed);
    struct machine_source machines = {w, find_machine, sleepers_sleep, read_process};
    if (deferred_use_machines(w->deferred, &machines))
        return -ENOMEM;
    files_open_with(w->files, config->opener, config->hung);
    deferred_use_code(w->deferred, w->code);
    deferred_use_stacks(w->deferred, return_stack, w->config.jobs);
    if (config->neighbours) {
        turns_begin(&w->builds, BUILDS_NS);
        files_share(w->files);
        aggregate_share(w->deferred_stacks);
    }
    struct namer_config names = config->names;
    names.parser = config->parser;
    names.opener = config->opener;
    names.hung = config->hung;
    names.files = w->files;
    names.cache = config->cache;
    names.again = config->profile != NULL;
    names.neighbours = config->neighbours;
    if (namer_new(&w->namer, &names))
        return -ENOMEM;
    *out = TAKE_PTR(w);
    return 0;
}

void worker_free(struct worker **ww)
{
    struct worker *w = *ww;
    if (!w)
        return;
    worker_stop(w, NULL); /* it was started, but never stopped */
    deferred_free(&w->deferred);
    namer_free(&w->namer);
    code_tables_free(&w->code);
    machines_free(&w->machines);
    job_free(w->held);
    files_free(&w->files);
    backlog_free(&w->backlog);
    turns_free(&w->builds);
    aggregate_free(&w->last.stacks);
    aggregate_free(&w->deferred_stacks);
    free(w);
    *ww = NULL;
}

/* ---- Figures ---- */

static void count_files(const struct files *files, struct worker_figures *out)
{
    size_t n;
    const struct file *all = files_all(files, &n);
    out->files = n;
    for (size_t i = 0; i < n; i++) {
        out->rows += all[i].rows;
        out->synth_rows += all[i].synth_rows;
        out->failed_files += all[i].value.state == XP_FILE_FAILED;
    }
    out->evicted_files = files_evicted(files);
    out->held = files_held(files);
    for (int i = 0; i < FILES_SYNTH_COUNT; i++)
        out->synth[i] = files_synth_count(files, (enum files_synth)i);
}

void worker_figures_now(const struct worker *w, struct worker_figures *out)
{
    *out = (struct worker_figures){.tally = w->tally,
                                   .deferred = deferred_rescued(w->deferred),
                                   .refused = w->refused,
                                   .map_bytes = probe_map_bytes(w->config.probe)};
    out->code = code_tables_stats(w->code);
    out->runtime.machines = machines_stats(w->machines);
    count_files(w->files, out);
    namer_count(w->namer, out);
}

void worker_figures(const struct worker *w, struct worker_figures *out)
{
    figures_copy(out, &w->shown, sizeof(*out));
}

/* ---- Jobs ---- */

void worker_build(void *worker, struct job *j)
{
    struct worker *w = worker;
    u64 began_ns = now_ns();
    files_build(w->files, &j->file);
    j->file.fd = -1;
    j->file.path = NULL;
    namer_note_file(w->namer, &j->file.event);
    turns_spend(&w->builds, j->file.event.cgroup, now_ns() - began_ns);
    job_free(j);
}

/* Builds a file now, or later if its cgroup has used up its time. One too many is announced again. A file that is known
 * takes no time. */
static void build_in_turn(struct worker *w, struct job *j)
{
    if (j->file.event.again || turns_may(&w->builds, j->file.event.cgroup)) {
        worker_build(w, j);
        return;
    }
    if (!backlog_put(&w->backlog, j))
        return;
    w->refused++;
    probe_forget(w->config.probe, &j->file.event.key);
    job_free(j);
}

void worker_build_vdso(struct worker *w, int fd)
{
    files_build_vdso(w->files, fd);
}

static void take_code(struct worker *w, const struct code_job *j)
{
    const struct code_owner who = {j->tgid, j->start, j->stack, j->cgroup};
    struct generated code;
    struct xp_machine machine;
    if (runtime_machine(j->attached.data, j->attached.len, &machine))
        machines_put(w->machines, &who, &machine);
    if (!j->reply.len || generated_open(j->reply.data, j->reply.len, &code)) /* as answer_check has found */
        return;
    code_tables_put(w->code, &who, &code);
    namer_add_code(w->namer, j, &code);
}

static void take_names(struct worker *w, const struct names_job *j)
{
    namer_add_frames(w->namer, j);
    jobs_names_done(w->config.jobs);
}

static void work(struct worker *w, struct job *j)
{
    if (j->kind == JOB_FILE && !jobs_too_late(w->config.jobs, now_ns())) {
        build_in_turn(w, j);
        return;
    }
    if (j->kind == JOB_DEFERRED) {
        deferred_add(w->deferred, j->deferred, w->deferred_stacks);
        j->deferred = (struct deferred_job){0};
    } else if (j->kind == JOB_SPAN) {
        worker_hold(w, j);
        return;
    } else if (j->kind == JOB_NAMES) {
        take_names(w, &j->names);
    } else if (j->kind == JOB_RUNTIME) {
        namer_add_process(w->namer, &j->process);
    } else if (j->kind == JOB_CODE) {
        take_code(w, &j->code);
    } else if (j->kind == JOB_GAP) {
        files_want_synth(w->files, j->gap.file, j->gap.offset);
    }
    job_free(j);
}

/* What can wait, when nothing else does. */
static void work_at_leisure(struct worker *w)
{
    if (jobs_waiting(w->config.jobs))
        return;
    probe_tables_rest(w->config.probe);
    bool in_time = !jobs_too_late(w->config.jobs, now_ns());
    struct job *late = in_time ? backlog_take(&w->backlog, &w->builds) : NULL;
    if (late)
        worker_build(w, late);
    else if (in_time && (!jobs_ended(w->config.jobs) || deferred_waiting(w->deferred)))
        files_synth_one(w->files); /* after the end, for the stacks that wait for it */
}

static void age_code(struct worker *w, u64 now)
{
    if (now - w->code_aged_ns < CODE_AGE_NS)
        return;
    w->code_aged_ns = now;
    code_tables_age(w->code);
    machines_age(w->machines);
}

static void set_at_hand(struct worker *w, u64 put_ns, u64 began_ns)
{
    __atomic_store_n(&w->put_ns, put_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&w->began_ns, began_ns, __ATOMIC_RELAXED);
}

void worker_lag(const struct worker *w, struct worker_lag *out)
{
    u64 began = __atomic_load_n(&w->began_ns, __ATOMIC_RELAXED), put = __atomic_load_n(&w->put_ns, __ATOMIC_RELAXED);
    u64 now = now_ns();
    *out = (struct worker_lag){0};
    if (began)
        *out = (struct worker_lag){.busy_ns = now > began ? now - began : 0, .late_ns = now > put ? now - put : 0};
}

/* How long to wait for a job, ms. */
static int patience(struct worker *w)
{
    if (w->backlog.files.n && !jobs_too_late(w->config.jobs, now_ns()))
        return 0;
    return w->held || deferred_waiting(w->deferred) || files_synth_waiting(w->files, now_ns()) ? IDLE_MS : TICK_MS;
}

static void *run(void *worker)
{
    struct worker *w = worker;
    pthread_setname_np(pthread_self(), "worker");
    for (;;) {
        struct job *j = jobs_get(w->config.jobs, patience(w));
        u64 now = now_ns();
        set_at_hand(w, j ? j->put_ns : now, now);
        if (j)
            work(w, j);
        else if (jobs_done(w->config.jobs) && !deferred_waiting(w->deferred) && !w->held)
            break;
        if (jobs_done(w->config.jobs))
            deferred_end(w->deferred);
        worker_release(w, false);
        files_tick(w->files, now_ns());
        age_code(w, now);
        deferred_run(w->deferred, DEFERRED_AGE_MS, w->deferred_stacks);
        work_at_leisure(w);
        set_at_hand(w, 0, 0);
    }
    worker_release(w, true);
    worker_deliver(w, &w->last);
    w->rss_bytes = usage_rss(w->config.parser);
    parser_rest(w->config.parser); /* its child would end with this thread; so would the opener's */
    opener_rest(w->config.opener);
    return NULL;
}

int worker_start(struct worker *w)
{
    int rc = pthread_create(&w->thread, NULL, run, w);
    w->running = !rc;
    return -rc;
}

void worker_stop(struct worker *w, struct span *last)
{
    if (!w->running)
        return;
    if (last) { /* ahead of the close, which is what makes the worker look at it */
        w->last = *last;
        *last = (struct span){0};
    }
    jobs_close(w->config.jobs);
    pthread_join(w->thread, NULL);
    w->running = false;
}

const char *worker_path(const struct worker *w, u32 file)
{
    const struct file *f = files_get(w->files, file);
    return f ? f->path : NULL;
}

u64 worker_rss(const struct worker *w)
{
    return w->rss_bytes;
}
