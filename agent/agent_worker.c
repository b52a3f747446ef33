/* The worker: builds tables in the order of the announcements, unwinds late stacks once they have waited for them, and
 * names what was counted in an interval.
 */
#include "agent_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "line_indexes.h"
#include <malloc.h>

#define LATE_AGE_MS 150 /* long enough for the files that a late stack announced to be opened and built */
#define IDLE_MS     20
#define TICK_MS     500
#define ROOT_AGE_NS (120 * NS_PER_SEC) /* of roots that are held for files which nobody named */

void job_free(struct job *j)
{
    if (!j)
        return;
    if (j->kind == JOB_FILE) {
        xp_cleanup_close(&j->file.fd);
        free(j->file.path);
    } else if (j->kind == JOB_LATE) {
        late_job_free(&j->late);
    } else if (j->kind == JOB_JIT) {
        jit_process_free(&j->jit);
    } else if (j->kind == JOB_SPAN) {
        aggregate_free(&j->span.stacks);
    }
    free(j);
}

/* The files that stacks of this interval ran through stay. */
static void age_files(struct agent *a, const struct aggregate *from)
{
    struct map seen = {0};
    VEC(u32) used = {0};
    size_t n;
    const struct agg_stack *stacks = aggregate_stacks(from, &n);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = stacks[i].nkernel; k < (size_t)stacks[i].nkernel + stacks[i].nuser; k++) {
            u64 word = stacks[i].words[k];
            u64 *known = XP_WORD_KIND(word) == XP_WORD_ANON ? NULL : map_put(&seen, XP_WORD_FILE(word));
            u32 *id = known && !*known ? VEC_PUSH(&used) : NULL;
            if (id)
                *id = XP_WORD_FILE(word);
            if (known)
                *known = 1;
        }
    }
    files_age(a->files, used.v, used.n);
    map_free(&seen);
    vec_free(&used);
}

/* What an interval brought, late stacks of the one before included, goes to the sink. */
static void deliver(struct agent *a, struct span *s)
{
    struct profile p;
    if (!s->stacks || profile_init(&p))
        return;
    aggregate_merge(s->stacks, a->late_aggregate);
    aggregate_judge(s->stacks, agent_judge, a);
    agent_count_stacks(a, s->stacks, &a->tally);
    if (!agent_name(a, s, &p))
        a->config.sink.profile(a->config.sink.ctx, &p);
    else
        log_warn("the profile of an interval is lost: no memory to name it");
    age_files(a, s->stacks);
    jit_maps_age(a->jit);
    line_indexes_release(a->lines, ROOT_AGE_NS);
    agent_show_figures(a);
    profile_free(&p);
    malloc_trim(0); /* an interval's memory is the next one's at the earliest */
}

static void work(struct agent *a, struct job *j)
{
    u64 deadline = __atomic_load_n(&a->deadline_ns, __ATOMIC_RELAXED);
    if (j->kind == JOB_FILE && (!deadline || now_ns() < deadline)) {
        files_build(a->files, &j->file);
        agent_note_debug_file(a, &j->file.event);
        j->file.fd = -1;
        j->file.path = NULL;
    } else if (j->kind == JOB_LATE) {
        late_add(a->late, j->late, a->late_aggregate);
        j->late = (struct late_job){0};
    } else if (j->kind == JOB_SPAN) {
        deliver(a, &j->span);
    } else if (j->kind == JOB_JIT) {
        jit_maps_add(a->jit, TAKE_PTR(j->jit));
    } else if (j->kind == JOB_GAP) {
        files_want_synth(a->files, j->gap);
    }
    job_free(j);
}

/* What can wait, when nothing else does. */
static void work_at_leisure(struct agent *a)
{
    if (queue_len(a->jobs))
        return;
    probe_tables_rest(a->probe);
    if (!__atomic_load_n(&a->deadline_ns, __ATOMIC_RELAXED))
        files_synth_one(a->files);
}

void *agent_worker(void *agent)
{
    struct agent *a = agent;
    pthread_setname_np(pthread_self(), "worker");
    for (;;) {
        bool soon = late_waiting(a->late) || files_synth_waiting(a->files, now_ns());
        struct job *j = queue_get(a->jobs, soon ? IDLE_MS : TICK_MS);
        if (j)
            work(a, j);
        else if (queue_closed(a->jobs) && !late_waiting(a->late))
            break;
        files_tick(a->files, now_ns());
        late_run(a->late, LATE_AGE_MS, a->late_aggregate);
        work_at_leisure(a);
    }
    deliver(a, &a->last);
    a->rss_bytes = agent_rss(a);
    parser_rest(a->parser); /* its child would end with this thread */
    return NULL;
}
