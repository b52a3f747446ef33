/* What a record of the ring tells the worker about: files, processes whose runtimes make code, gaps. */
#include "base/hash.h"
#include "pipeline/collector_internal.h"
#include "pipeline/openings.h"
#include "profile/frames.h"

#define PROCESSES_SEEN 4096
#define CODE_PAUSE_NS  50000000 /* between two reports of one process */
#define GAPS_SEEN      4096
#define GAP_BYTES      65536 /* one stack that stops in so much code is enough */

void announce_job(struct collector *c, struct job *j)
{
    struct job **slot = c->gathering ? VEC_PUSH(&c->gathered) : NULL;
    if (slot)
        *slot = j;
    else if (c->gathering || openings_put(c->config.openings, j)) {
        c->own.queue_full++;
        probe_forget(c->config.probe, &j->file.event.key);
        job_free(j);
    }
}

void announce_file(void *ctx, const struct xp_file_event *e)
{
    struct collector *c = ctx;
    struct job *j = job_new(JOB_FILE);
    if (!j)
        return;
    j->file.event = *e;
    announce_job(c, j);
}

void announce_tag(void *ctx, const struct xp_tag_event *e)
{
    struct collector *c = ctx;
    tags_keep(&c->waits.tags, e);
}

/* The entry of a key that was not announced yet; NULL: it was. Forgetting all of them is harmless: the worker knows
 * them. */
static u64 *first_sight(struct map *seen, size_t max, u64 key)
{
    if (seen->n >= max)
        map_free(seen);
    u64 *announced = map_put(seen, key);
    return announced && !*announced ? announced : NULL;
}

/* The process is opened soon, for it may be gone when its interval ends. When there is no room, the next sample of the
 * same kind tries again; so for gaps. */
void announce_runtime(struct collector *c, const struct xp_sample *s)
{
    struct runtime_process p;
    if (!runtime_recognises(s, &p))
        return;
    u64 *announced = first_sight(&c->runtimes_seen, PROCESSES_SEEN, hash_process(s->tgid, s->start));
    struct job *j = announced ? job_new(JOB_RUNTIME) : NULL;
    if (!j)
        return;
    j->process = p;
    if (openings_put(c->config.openings, j))
        job_free(j);
    else
        *announced = 1;
}

/* Some code of no file had to be unwound by frame pointer, or could not be, or by rows that are another code's. */
static bool misses_code(const struct xp_sample *s)
{
    bool none = !(s->flags & XP_SAMPLE_FP_USED) && cause_class(s->cause) != 'x';
    for (unsigned i = s->nkernel; !none && i < (unsigned)s->nkernel + s->nuser; i++)
        if (XP_WORD_KIND(s->words[i]) == XP_WORD_ANON)
            return true;
    return false;
}

/* Its last frame is that of callers that are frozen. What is below it is known once a virtual thread has run; whoever
 * looked at the process may have done that before. */
static bool misses_mounting(const struct xp_sample *s)
{
    unsigned n = (unsigned)s->nkernel + s->nuser;
    const u64 *last = s->words + n - 2;
    return s->nuser >= 2 && XP_WORD_KIND(*last) == XP_WORD_JAVA && XP_JAVA_FORM(*last) == XP_JAVA_FROZEN;
}

void announce_code(struct collector *c, const struct xp_sample *s)
{
    if (s->flags & XP_SAMPLE_RUNTIME || misses_code(s) || misses_mounting(s))
        announce_code_of(c, s);
}

/* Those who read it decide when they do. */
void announce_code_of(struct collector *c, const struct xp_sample *s)
{
    if (c->code_seen.n >= PROCESSES_SEEN)
        map_free(&c->code_seen);
    u64 *last = map_put(&c->code_seen, hash_process(s->tgid, s->start));
    bool due = last && (!*last || s->time - *last >= CODE_PAUSE_NS);
    struct job *j = due ? job_new(JOB_CODE) : NULL;
    if (!j)
        return;
    j->code = (struct code_job){.tgid = s->tgid, .start = s->start, .cgroup = s->cgroup, .anonymous = misses_code(s)};
    if (openings_put(c->config.openings, j))
        job_free(j);
    else
        *last = s->time;
}

void announce_texts(void *ctx, const struct xp_code_event *e)
{
    struct collector *c = ctx;
    frame_asks_code(&c->asks, e);
}

/* If there is no room, they stay without names. */
void announce_frames(struct collector *c)
{
    for (struct job *j; (j = frame_asks_take(&c->asks));)
        if (openings_put(c->config.openings, j))
            job_free(j);
}

void announce_gap(struct collector *c, const struct xp_sample *s)
{
    u64 offset = 0;
    u32 id = deferred_gap_of(s, &offset);
    u64 key = (u64)id << XP_OFFSET_BITS | offset / GAP_BYTES;
    u64 *announced = id ? first_sight(&c->gap_seen, GAPS_SEEN, key) : NULL;
    struct job *j = announced ? job_new(JOB_GAP) : NULL;
    if (!j)
        return;
    j->gap = (struct gap){id, offset};
    if (jobs_put(c->config.jobs, j))
        job_free(j);
    else
        *announced = 1;
}
