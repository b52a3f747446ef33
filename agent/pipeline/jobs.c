#include "pipeline/jobs.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/queue.h"
#include <errno.h>

struct job *job_new(enum job_kind kind)
{
    struct job *j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    j->kind = kind;
    if (kind == JOB_FILE)
        j->file.fd = -1;
    return j;
}

void job_free(struct job *j)
{
    if (!j)
        return;
    if (j->kind == JOB_FILE) {
        xp_cleanup_close(&j->file.fd);
        free(j->file.path);
    } else if (j->kind == JOB_DEFERRED || j->kind == JOB_SLEEPER) {
        deferred_job_free(&j->deferred);
    } else if (j->kind == JOB_RUNTIME) {
        runtime_process_close(&j->process);
    } else if (j->kind == JOB_SPAN) {
        aggregate_free(&j->span.stacks);
    } else if (j->kind == JOB_CODE) {
        parser_reply_free(&j->code.reply);
        parser_reply_free(&j->code.attached);
    } else if (j->kind == JOB_NAMES) {
        free(j->names.words);
        free(j->names.codes);
        parser_reply_free(&j->names.reply);
    }
    free(j);
}

int jobs_new(struct jobs *j)
{
    *j = (struct jobs){
        .lock = PTHREAD_MUTEX_INITIALIZER, .dumps = {.limit = JOBS_DUMP_BYTES}, .code = {.limit = JOBS_CODE_BYTES}};
    int rc = queue_new(&j->queue, JOBS_MAX);
    return rc ? rc : queue_new(&j->stacks, JOBS_MAX);
}

void jobs_share(struct jobs *j)
{
    j->share = true;
}

void jobs_free(struct jobs *j)
{
    for (struct job *left; j->queue && (left = queue_get(j->queue, 0));)
        job_free(left);
    for (struct xp_sample *stack; (stack = jobs_returned_stack(j));)
        free(stack);
    queue_free(&j->queue);
    queue_free(&j->stacks);
    shares_free(&j->dumps);
    shares_free(&j->code);
}

/* What a job takes of the queue's memory: of whose share of what, and how much. NULL: nothing that matters. */
static struct shares *room_of(struct jobs *j, const struct job *job, u64 *owner, u64 *bytes)
{
    bool is_dump = job->kind == JOB_DEFERRED, is_names = job->kind == JOB_NAMES;
    if (!is_dump && !is_names && job->kind != JOB_CODE)
        return NULL;
    *bytes = is_dump    ? sizeof(struct xp_dump)
             : is_names ? job->names.reply.len
                        : job->code.reply.len + job->code.attached.len;
    *owner = is_dump ? job->deferred.sample->cgroup : is_names ? job->names.cgroup : job->code.cgroup;
    if (!j->share)
        *owner = SHARES_ALL;
    return is_dump ? &j->dumps : &j->code;
}

static bool take_room(struct jobs *j, const struct job *job)
{
    u64 owner, bytes;
    struct shares *s = room_of(j, job, &owner, &bytes);
    pthread_mutex_lock(&j->lock);
    bool fits = !s || shares_take(s, owner, bytes);
    pthread_mutex_unlock(&j->lock);
    return fits;
}

static void give_room(struct jobs *j, const struct job *job)
{
    u64 owner, bytes;
    struct shares *s = room_of(j, job, &owner, &bytes);
    pthread_mutex_lock(&j->lock);
    if (s)
        shares_give(s, owner, bytes);
    pthread_mutex_unlock(&j->lock);
}

int jobs_put(struct jobs *j, struct job *job)
{
    if (!take_room(j, job))
        return -ENOSPC;
    job->put_ns = now_ns();
    int rc = queue_put(j->queue, job);
    if (rc)
        give_room(j, job);
    return rc;
}

void jobs_names_asked(struct jobs *j)
{
    __atomic_add_fetch(&j->names_asked, 1, __ATOMIC_RELAXED);
}

void jobs_names_done(struct jobs *j)
{
    __atomic_add_fetch(&j->names_done, 1, __ATOMIC_RELAXED);
}

bool jobs_names_open(const struct jobs *j)
{
    return __atomic_load_n(&j->names_done, __ATOMIC_RELAXED) < __atomic_load_n(&j->names_asked, __ATOMIC_RELAXED);
}

void jobs_return_stack(struct jobs *j, struct xp_sample *stack)
{
    if (queue_put(j->stacks, stack))
        free(stack);
}

struct xp_sample *jobs_returned_stack(struct jobs *j)
{
    return j->stacks ? queue_get(j->stacks, 0) : NULL;
}

bool jobs_reserve_span(struct jobs *j, const struct span *s)
{
    size_t bytes = aggregate_bytes(s->stacks);
    pthread_mutex_lock(&j->lock);
    bool fits = !j->span_bytes || j->span_bytes + bytes <= JOBS_SPAN_BYTES;
    j->span_bytes += fits ? bytes : 0;
    pthread_mutex_unlock(&j->lock);
    return fits;
}

void jobs_release_span(struct jobs *j, const struct span *s)
{
    pthread_mutex_lock(&j->lock);
    j->span_bytes -= aggregate_bytes(s->stacks);
    pthread_mutex_unlock(&j->lock);
}

struct job *jobs_get(struct jobs *j, int timeout_ms)
{
    struct job *job = queue_get(j->queue, timeout_ms);
    if (job)
        give_room(j, job);
    if (job && job->kind == JOB_SPAN)
        jobs_release_span(j, &job->span);
    return job;
}

size_t jobs_waiting(const struct jobs *j)
{
    return queue_len(j->queue);
}

bool jobs_crowded(const struct jobs *j)
{
    return queue_len(j->queue) > JOBS_MAX / 2;
}

void jobs_close(struct jobs *j)
{
    queue_close(j->queue);
}

bool jobs_done(const struct jobs *j)
{
    return queue_closed(j->queue) && !queue_len(j->queue);
}

void jobs_end_by(struct jobs *j, u64 deadline_ns)
{
    __atomic_store_n(&j->deadline_ns, deadline_ns, __ATOMIC_RELAXED);
}

bool jobs_ended(const struct jobs *j)
{
    return __atomic_load_n(&j->deadline_ns, __ATOMIC_RELAXED);
}

bool jobs_too_late(const struct jobs *j, u64 now_ns)
{
    u64 deadline = __atomic_load_n(&j->deadline_ns, __ATOMIC_RELAXED);
    return deadline && now_ns >= deadline;
}
