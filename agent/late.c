#include "late.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/host/unwind_host.h"
#include "profile/frames.h"
#include <errno.h>
#include <string.h>

#define LATE_MAX 512 /* waiting at once: 12 MiB of stacks */

struct waiting {
    struct late_job job;
    u64 since;
};

struct late {
    struct probe *probe;
    struct files *files;
    VEC(struct waiting) list;
    struct xp_state *state; /* large: one for all */
    u64 rescued;
};

void late_job_free(struct late_job *j)
{
    free(TAKE_PTR(j->sample));
    free(TAKE_PTR(j->dump));
}

int late_new(struct late **out, struct probe *probe, struct files *files)
{
    struct late *l = calloc(1, sizeof(*l));
    if (!l || !(l->state = calloc(1, sizeof(*l->state)))) {
        free(l);
        return -ENOMEM;
    }
    l->probe = probe;
    l->files = files;
    *out = l;
    return 0;
}

void late_free(struct late **ll)
{
    struct late *l = *ll;
    if (!l)
        return;
    for (size_t i = 0; i < l->list.n; i++)
        late_job_free(&l->list.v[i].job);
    vec_free(&l->list);
    free(l->state);
    free(l);
    *ll = NULL;
}

void late_add(struct late *l, struct late_job job, struct aggregate *into)
{
    struct waiting *w = l->list.n < LATE_MAX ? VEC_PUSH(&l->list) : NULL;
    if (!w) {
        aggregate_add(into, job.sample);
        late_job_free(&job);
        return;
    }
    *w = (struct waiting){.job = job, .since = now_ns()};
}

static int read_dump(void *ctx, void *to, u32 len, u64 from)
{
    const struct xp_dump *d = ctx;
    u64 at = from - d->regs.r[7];
    if (at > d->len || len > d->len - at)
        return 1;
    memcpy(to, d->stack + at, len);
    return 0;
}

static size_t resolve_mappings(const struct late *l, const struct waiting *w, struct xp_vma *out)
{
    size_t n = 0;
    for (; n < w->job.dump->nmaps; n++) {
        const struct xp_mapping *m = &w->job.dump->maps[n];
        const struct file *f = m->file ? files_get(l->files, m->file) : NULL;
        out[n] = (struct xp_vma){.start = m->start, .end = m->end, .bias = m->start - m->pgoff};
        out[n].file.state = XP_FILE_FP;
        if (f)
            out[n].file = f->value;
        else if (m->file)
            out[n].file = (struct xp_file){.id = m->file, .state = XP_FILE_PENDING};
    }
    return n;
}

/* The sample with the frames that the second unwind found; NULL when they are no better. */
static struct xp_sample *rebuild(struct late *l, const struct waiting *w)
{
    const struct xp_sample *old = w->job.sample;
    AUTO_FREE struct xp_vma *vmas = calloc(w->job.dump->nmaps + 1, sizeof(*vmas));
    if (!vmas || !w->job.dump->nmaps)
        return NULL;
    struct host_space space = {
        .rules = probe_rule_array(l->probe),
        .vmas = vmas,
        .nvmas = resolve_mappings(l, w, vmas),
        .read = read_dump,
        .ctx = w->job.dump,
    };
    space.words = probe_shard_words(l->probe, &space.nwords);
    host_unwind(&space, &w->job.dump->regs, l->state);
    u32 cause = l->state->cause, n = l->state->sample.nuser;
    if (cause_class((u8)cause) != 'c' && n <= old->nuser)
        return NULL;
    struct xp_sample *s = malloc(sizeof(*s) + 8ull * (old->nkernel + n));
    if (!s)
        return NULL;
    *s = *old;
    memcpy(s->words, old->words, 8ull * old->nkernel);
    memcpy(s->words + old->nkernel, l->state->words, 8ull * n);
    s->nuser = (u16)n;
    s->cause = cause == XP_CAUSE_STACK_READ && w->job.dump->len >= XP_DUMP_BYTES - 4096 ? XP_CAUSE_DUMP_END : (u8)cause;
    l->rescued += cause_class((u8)cause) == 'c';
    return s;
}

void late_run(struct late *l, unsigned min_age_ms, struct aggregate *into)
{
    u64 now = now_ns();
    size_t kept = 0;
    for (size_t i = 0; i < l->list.n; i++) {
        struct waiting *w = &l->list.v[i];
        if (now - w->since < min_age_ms * 1000000ull) {
            l->list.v[kept++] = *w;
            continue;
        }
        AUTO_FREE struct xp_sample *better = rebuild(l, w);
        aggregate_add(into, better ? better : w->job.sample);
        late_job_free(&w->job);
    }
    l->list.n = kept;
}

size_t late_waiting(const struct late *l)
{
    return l->list.n;
}

u64 late_rescued(const struct late *l)
{
    return l->rescued;
}
