/* What becomes of an interval at its end. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "pipeline/reclassify.h"
#include "pipeline/worker_internal.h"
#include "profile/frames.h"
#include "profile/reason.h"
#include <malloc.h>

#define HELD_NS NS_PER_SEC /* for the names of the last frames of an interval */

static u64 *tally_of(struct worker *w, const struct agg_stack *s)
{
    char class = cause_class(s->cause);
    return &w->tally.events[s->event][class == 'n'   ? EVENT_STACK_NONE
                                      : class == 'c' ? EVENT_STACK_COMPLETE
                                                     : EVENT_STACK_CUT];
}

static void count_stacks(struct worker *w, const struct aggregate *from)
{
    size_t n;
    const struct agg_stack *stacks = aggregate_stacks(from, &n);
    struct tally *t = &w->tally;
    for (size_t i = 0; i < n; i++) {
        u64 count = agg_count(&stacks[i]);
        char class = cause_class(stacks[i].cause);
        t->cause[stacks[i].cause] += count;
        t->user_samples += class != 'n' ? count : 0;
        t->complete += class == 'c' ? count : 0;
        *tally_of(w, &stacks[i]) += count;
    }
    t->dropped += aggregate_dropped(from);
}

static void publish_figures(struct worker *w)
{
    struct worker_figures f;
    worker_figures_now(w, &f);
    figures_copy(&w->shown, &f, sizeof(f));
}

/* The files that stacks of this interval ran through stay. */
static void age_files(struct files *files, const struct aggregate *from)
{
    struct map seen = {0};
    VEC(u32) used = {0};
    size_t n;
    const struct agg_stack *stacks = aggregate_stacks(from, &n);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < (size_t)stacks[i].nkernel + stacks[i].nuser; k++) { /* wakers have files, too */
            u64 word = stacks[i].words[k];
            u64 *known = word_in_file(word) ? map_put(&seen, XP_WORD_FILE(word)) : NULL;
            u32 *id = known && !*known ? VEC_PUSH(&used) : NULL;
            if (id)
                *id = XP_WORD_FILE(word);
            if (known)
                *known = 1;
        }
    }
    files_age(files, used.v, used.n);
    map_free(&seen);
    vec_free(&used);
}

void worker_finish(struct worker *w, struct aggregate *stacks)
{
    aggregate_merge(stacks, w->deferred_stacks);
    aggregate_reclassify(stacks, reclassify_stack, w->files);
    count_stacks(w, stacks);
}

int worker_name(struct worker *w, const struct span *s, struct profile *out)
{
    return namer_run(w->namer, s, out);
}

void worker_deliver(struct worker *w, struct span *s)
{
    struct profile p;
    if (!s->stacks || profile_init(&p))
        return;
    worker_finish(w, s->stacks);
    if (!worker_name(w, s, &p))
        w->config.profile(w->config.ctx, &p);
    else
        log_warn("out of memory during symbolization: the profile of this interval is lost");
    if (files_starved(w->files) || code_tables_starved(w->code))
        code_tables_make_room(w->code);
    age_files(w->files, s->stacks);
    namer_age(w->namer, s->duration_ns);
    if (w->config.neighbours)
        turns_begin(&w->builds, s->duration_ns / 4);
    publish_figures(w);
    profile_free(&p);
    malloc_trim(0); /* an interval's memory is the next one's at the earliest */
}

void worker_release(struct worker *w, bool now)
{
    if (!w->held || (!now && jobs_names_open(w->config.jobs) && now_ns() <= w->held_until_ns))
        return;
    struct job *j = TAKE_PTR(w->held);
    worker_deliver(w, &j->span);
    job_free(j);
}

void worker_hold(struct worker *w, struct job *span)
{
    worker_release(w, true);
    w->held = span;
    w->held_until_ns = now_ns() + HELD_NS;
}
