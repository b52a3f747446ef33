#include "pipeline/jobs.h"
#include "base/cleanup.h"
#include "base/queue.h"

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
    } else if (j->kind == JOB_DEFERRED) {
        deferred_job_free(&j->deferred);
    } else if (j->kind == JOB_RUNTIME) {
        runtime_process_close(&j->process);
    } else if (j->kind == JOB_SPAN) {
        aggregate_free(&j->span.stacks);
    }
    free(j);
}

int jobs_new(struct jobs *j)
{
    *j = (struct jobs){0};
    return queue_new(&j->queue, JOBS_MAX);
}

void jobs_free(struct jobs *j)
{
    for (struct job *left; j->queue && (left = queue_get(j->queue, 0));)
        job_free(left);
    queue_free(&j->queue);
}

int jobs_put(struct jobs *j, struct job *job)
{
    return queue_put(j->queue, job);
}

struct job *jobs_get(struct jobs *j, int timeout_ms)
{
    return queue_get(j->queue, timeout_ms);
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
