#include "pipeline/openings.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/queue.h"
#include "opener/hung.h"
#include "opener/opener.h"
#include "parser/parser.h"
#include "pipeline/code_reads.h"
#include "pipeline/jobs.h"
#include "pipeline/runtime_reads.h"
#include "pipeline/sleepers.h"
#include "probe/probe.h"
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#define AGAIN_US 2000
#define IDLE_MS  10000
#define TRY_MS   5000 /* for a file, as the worker has */

struct lane {
    struct openings *all;
    struct queue *queue;
    struct opener *opener;
    struct parser *parser; /* atomic; NULL: not needed so far */
    pthread_t thread;
    bool runs;
    u64 put, done; /* atomic: jobs, and one for the start */
};

enum { LOCAL, OTHER, LANES };

struct openings {
    struct probe *probe;
    struct jobs *jobs;
    struct hung *hung;
    struct code_reads *code; /* these two belong to lane OTHER */
    struct runtime_reads *runtimes;
    struct lane lanes[LANES];
    u64 refused; /* atomic */
    bool ending; /* atomic */
};

/* ---- A lane ----------------------------------------------------------------------------------------------------- */

/* The lane's own parser process. What hangs in it keeps nobody waiting but others of the lane. */
static struct parser *parser_of(struct lane *l)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    struct parser *p = NULL;
    if (l->parser)
        return l->parser;
    limits.timeout_ms = TRY_MS;
    if (parser_new(&p, &limits))
        return NULL;
    parser_set_opener(p, l->opener, l->all->hung);
    __atomic_store_n(&l->parser, p, __ATOMIC_RELEASE);
    return p;
}

static bool open_code(struct lane *l, struct code_job *j)
{
    if (!parser_of(l) || !code_reads_one(l->all->code, j, l->opener, l->parser, l->all->hung))
        return false;
    if (j->attached.len)
        runtime_reads_keep(l->all->runtimes, j);
    return true;
}

/* False: there is nothing to pass on. */
static bool open_job(struct lane *l, struct job *j)
{
    if (j->kind == JOB_FILE)
        file_job_open(&j->file, l->opener, l->all->hung);
    bool foreign = j->kind == JOB_FILE && j->file.fd >= 0 && l == &l->all->lanes[OTHER];
    if (foreign && !j->file.event.again && parser_of(l))
        file_job_try(&j->file, l->parser, l->all->hung);
    if (j->kind == JOB_SLEEPER && sleepers_read(&j->deferred, l->opener, l->all->hung)) {
        jobs_return_stack(l->all->jobs, TAKE_PTR(j->deferred.sample)); /* as it is */
        return false;
    }
    if (j->kind == JOB_SLEEPER)
        j->kind = JOB_DEFERRED;
    if (j->kind == JOB_CODE)
        return open_code(l, &j->code);
    if (j->kind == JOB_NAMES)
        return (parser_of(l) && runtime_reads_names(l->all->runtimes, &j->names, l->opener, l->parser, l->all->hung)) ||
               j->names.ncodes;
    return j->kind != JOB_RUNTIME || runtime_process_open(l->opener, &j->process);
}

static bool is_ending(const struct openings *o)
{
    return __atomic_load_n(&o->ending, __ATOMIC_RELAXED);
}

static void drop(struct openings *o, struct job *j)
{
    if (j->kind == JOB_NAMES)
        jobs_names_done(o->jobs);
    job_free(j);
}

/* An interval waits for room: there is none other like it. */
static void pass_on(struct openings *o, struct job *j)
{
    int rc = jobs_put(o->jobs, j);
    while (rc && j->kind == JOB_SPAN && !is_ending(o)) {
        usleep(AGAIN_US);
        rc = jobs_put(o->jobs, j);
    }
    if (!rc)
        return;
    if (j->kind == JOB_FILE) {
        probe_forget(o->probe, &j->file.event.key);
        __atomic_add_fetch(&o->refused, 1, __ATOMIC_RELAXED);
    }
    drop(o, j);
}

static void rest(struct lane *l)
{
    opener_rest(l->opener);
    if (l->parser)
        parser_rest(l->parser);
}

static void *run(void *lane)
{
    struct lane *l = lane;
    bool is_local = l == &l->all->lanes[LOCAL];
    pthread_setname_np(pthread_self(), "opener");
    if (is_local) /* the other one's child is not needed everywhere */
        opener_start(l->opener);
    __atomic_add_fetch(&l->done, 1, __ATOMIC_RELEASE);
    for (;;) {
        struct job *j = queue_get(l->queue, is_local ? -1 : IDLE_MS);
        if (!j && queue_closed(l->queue))
            break;
        if (!j)
            rest(l); /* memory for nothing */
        else if (is_ending(l->all) || !open_job(l, j))
            drop(l->all, j);
        else
            pass_on(l->all, j);
        if (j)
            __atomic_add_fetch(&l->done, 1, __ATOMIC_RELEASE);
    }
    rest(l); /* its children would end with this thread */
    return NULL;
}

static int start(struct openings *o, struct lane *l)
{
    l->all = o;
    l->put = 1; /* its start */
    int rc = queue_new(&l->queue, OPENINGS_MAX);
    if (!rc)
        rc = opener_new(&l->opener, o->hung);
    if (!rc)
        rc = -pthread_create(&l->thread, NULL, run, l);
    l->runs = !rc;
    return rc;
}

static void end(struct lane *l)
{
    if (l->queue)
        queue_close(l->queue);
    if (l->runs)
        pthread_join(l->thread, NULL);
    for (struct job *j; l->queue && (j = queue_get(l->queue, 0));)
        job_free(j);
    queue_free(&l->queue);
    parser_free(&l->parser);
    opener_free(&l->opener);
}

/* ---- All of them ------------------------------------------------------------------------------------------------ */

int openings_new(struct openings **out, struct probe *probe, struct jobs *jobs, struct hung *hung)
{
    CLEANUP(openings_free) struct openings *o = calloc(1, sizeof(*o));
    if (!o)
        return -ENOMEM;
    o->probe = probe;
    o->jobs = jobs;
    o->hung = hung;
    if (code_reads_new(&o->code) || runtime_reads_new(&o->runtimes))
        return -ENOMEM;
    for (size_t i = 0; i < LANES; i++) {
        int rc = start(o, &o->lanes[i]);
        if (rc)
            return rc;
    }
    *out = TAKE_PTR(o);
    return 0;
}

void openings_free(struct openings **oo)
{
    struct openings *o = *oo;
    if (!o)
        return;
    __atomic_store_n(&o->ending, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < LANES; i++)
        end(&o->lanes[i]);
    code_reads_free(&o->code);
    runtime_reads_free(&o->runtimes);
    free(o);
    *oo = NULL;
}

int openings_put(struct openings *o, struct job *job)
{
    bool process =
        job->kind == JOB_RUNTIME || job->kind == JOB_CODE || job->kind == JOB_SLEEPER || job->kind == JOB_NAMES;
    bool other = process || (job->kind == JOB_FILE && hung_may(job->file.event.magic));
    struct lane *l = &o->lanes[other ? OTHER : LOCAL];
    if (job->kind == JOB_SPAN && !jobs_reserve_span(o->jobs, &job->span))
        return -ENOSPC;
    __atomic_add_fetch(&l->put, 1, __ATOMIC_RELAXED);
    if (job->kind == JOB_NAMES)
        jobs_names_asked(o->jobs);
    int rc = queue_put(l->queue, job);
    if (rc && job->kind == JOB_NAMES)
        jobs_names_done(o->jobs);
    if (rc)
        __atomic_sub_fetch(&l->put, 1, __ATOMIC_RELAXED);
    if (rc && job->kind == JOB_SPAN)
        jobs_release_span(o->jobs, &job->span);
    return rc;
}

static bool is_settled(const struct openings *o)
{
    for (size_t i = 0; i < LANES; i++)
        if (__atomic_load_n(&o->lanes[i].done, __ATOMIC_ACQUIRE) < __atomic_load_n(&o->lanes[i].put, __ATOMIC_RELAXED))
            return false;
    return true;
}

void openings_settle(struct openings *o, u64 deadline_ns)
{
    while (!is_settled(o) && now_ns() < deadline_ns)
        usleep(AGAIN_US);
}

u64 openings_refused(struct openings *o)
{
    return __atomic_load_n(&o->refused, __ATOMIC_RELAXED);
}

u64 openings_unknown(struct openings *o)
{
    return code_reads_unknown(o->code);
}

u64 openings_cpu_ns(struct openings *o)
{
    struct parser *p = __atomic_load_n(&o->lanes[OTHER].parser, __ATOMIC_ACQUIRE);
    return opener_cpu_ns(o->lanes[LOCAL].opener) + opener_cpu_ns(o->lanes[OTHER].opener) + (p ? parser_cpu_ns(p) : 0);
}
