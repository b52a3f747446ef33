#include "pipeline/frame_asks.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include <string.h>

#define SEEN_MAX      (1u << 18) /* frames of all processes */
#define PROCESSES_MAX 1024       /* that wait at once */

void frame_asks_free(struct frame_asks *a)
{
    for (size_t i = 0; i < a->list.n; i++) {
        vec_free(&a->list.v[i].words);
        vec_free(&a->list.v[i].codes);
    }
    vec_free(&a->list);
    map_free(&a->seen);
}

static struct frame_asking *asking_of(struct frame_asks *a, u32 tgid, u64 start, u64 cgroup)
{
    for (size_t i = 0; i < a->list.n; i++)
        if (a->list.v[i].tgid == tgid && a->list.v[i].start == start)
            return &a->list.v[i];
    struct frame_asking *new = a->list.n < PROCESSES_MAX ? VEC_PUSH(&a->list) : NULL;
    if (new)
        *new = (struct frame_asking){.tgid = tgid, .start = start, .cgroup = cgroup};
    return new;
}

/* True: it was not seen in this interval, nor in the one before. */
static bool is_new(struct frame_asks *a, u64 process, const u64 *words)
{
    if (a->seen.n >= SEEN_MAX)
        map_free(&a->seen);
    u64 *seen = map_put(&a->seen, hash_u64(words[0] ^ hash_u64(words[1] ^ process)));
    if (!seen)
        return false;
    u64 before = *seen;
    *seen = a->interval + 1ull;
    return !before || before < a->interval;
}

static void add(struct frame_asks *a, const struct xp_sample *s, const u64 *words)
{
    struct frame_asking *to = asking_of(a, s->tgid, s->start, s->cgroup);
    if (!to || to->words.n >= 2 * FRAME_ASKS_MAX || VEC_RESERVE(&to->words, to->words.n + 2)) {
        a->lost++;
        return;
    }
    memcpy(to->words.v + to->words.n, words, 2 * sizeof(*words));
    to->words.n += 2;
}

static bool has_name(u64 word)
{
    return XP_IS_RUNTIME(word) && !(XP_WORD_KIND(word) == XP_WORD_JAVA && XP_JAVA_FORM(word) == XP_JAVA_FROZEN);
}

void frame_asks_note(struct frame_asks *a, const struct xp_sample *s)
{
    u64 process = hash_process(s->tgid, s->start);
    for (unsigned i = s->nkernel; i + 1 < (unsigned)s->nkernel + s->nuser; i++)
        if (has_name(s->words[i]) && is_new(a, process, s->words + i))
            add(a, s, s->words + i);
}

void frame_asks_code(struct frame_asks *a, const struct xp_code_event *e)
{
    struct frame_asking *to = asking_of(a, e->tgid, e->start, e->cgroup);
    if (to && to->codes.n < FRAME_CODES_MAX && !VEC_RESERVE(&to->codes, to->codes.n + 1))
        to->codes.v[to->codes.n++] = *e;
}

struct job *frame_asks_take(struct frame_asks *a)
{
    struct job *j = a->list.n ? job_new(JOB_NAMES) : NULL;
    if (!j)
        return NULL;
    const struct frame_asking *from = &a->list.v[--a->list.n];
    j->names = (struct names_job){.tgid = from->tgid,
                                  .start = from->start,
                                  .cgroup = from->cgroup,
                                  .words = from->words.v,
                                  .n = from->words.n / 2,
                                  .codes = from->codes.v,
                                  .ncodes = from->codes.n};
    return j;
}

void frame_asks_age(struct frame_asks *a)
{
    a->interval++;
}
