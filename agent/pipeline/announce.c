/* What a record of the ring tells the worker about: files, processes whose runtimes make code, gaps. */
#include "base/hash.h"
#include "pipeline/collector_internal.h"
#include "proc/proc.h"

#define PROCESSES_SEEN 4096
#define GAPS_SEEN      4096

void announce_job(struct collector *c, struct job *j)
{
    struct job **slot = c->gathering ? VEC_PUSH(&c->gathered) : NULL;
    if (slot)
        *slot = j;
    else if (c->gathering || jobs_put(c->config.jobs, j)) {
        c->own.queue_full++;
        probe_forget(c->config.probe, &j->file.event.key);
        job_free(j);
    }
}

void announce_file(struct collector *c, const struct xp_file_event *e)
{
    struct job *j = job_new(JOB_FILE);
    if (!j)
        return;
    j->file.event = *e;
    j->file.fd = proc_open_mapping(e->tgid, e->start, e->end, &j->file.path);
    if (j->file.fd < 0) {
        j->file.error = j->file.fd;
        j->file.fd = -1;
    }
    announce_job(c, j);
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

/* Takes j. When the queue is full, the next sample of the same kind tries again. */
static void announce(struct collector *c, struct job *j, u64 *announced)
{
    if (jobs_put(c->config.jobs, j))
        job_free(j);
    else
        *announced = 1;
}

/* The process is opened now, for it may be gone when its interval ends. */
void announce_runtime(struct collector *c, const struct xp_sample *s)
{
    if (!runtime_recognises(s))
        return;
    u64 *announced = first_sight(&c->runtimes_seen, PROCESSES_SEEN, hash_u64(s->start ^ hash_u64(s->tgid)));
    struct job *j = announced ? job_new(JOB_RUNTIME) : NULL;
    if (!j)
        return;
    if (runtime_process_open(s, &j->process))
        announce(c, j, announced);
    else
        job_free(j);
}

void announce_gap(struct collector *c, const struct xp_sample *s)
{
    u32 id = deferred_gap_of(s);
    u64 *announced = id ? first_sight(&c->gap_seen, GAPS_SEEN, id) : NULL;
    struct job *j = announced ? job_new(JOB_GAP) : NULL;
    if (!j)
        return;
    j->gap = id;
    announce(c, j, announced);
}
