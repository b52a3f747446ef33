/* The worker: builds tables in the order of the announcements, and unwinds late stacks once they have waited for them.
 */
#include "agent_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define LATE_AGE_MS 150 /* long enough for the files that a late stack announced to be opened and built */
#define IDLE_MS     20
#define TICK_MS     500

void job_free(struct job *j)
{
    if (!j)
        return;
    if (j->is_file) {
        xp_cleanup_close(&j->file.fd);
        free(j->file.path);
    } else {
        late_job_free(&j->late);
    }
    free(j);
}

static void work(struct agent *a, struct job *j)
{
    u64 deadline = __atomic_load_n(&a->deadline_ns, __ATOMIC_RELAXED);
    if (j->is_file && (!deadline || now_ns() < deadline)) {
        files_build(a->files, &j->file);
        j->file.fd = -1;
        j->file.path = NULL;
    } else if (!j->is_file) {
        late_add(a->late, j->late, a->late_aggregate);
        j->late = (struct late_job){0};
    }
    job_free(j);
}

void *agent_worker(void *agent)
{
    struct agent *a = agent;
    for (;;) {
        struct job *j = queue_get(a->jobs, late_waiting(a->late) ? IDLE_MS : TICK_MS);
        if (j)
            work(a, j);
        else if (queue_closed(a->jobs) && !late_waiting(a->late))
            break;
        files_tick(a->files, now_ns());
        late_run(a->late, LATE_AGE_MS, a->late_aggregate);
    }
    a->rss_bytes = agent_rss(a);
    parser_rest(a->parser); /* its child would end with this thread */
    return NULL;
}
