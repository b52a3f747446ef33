#include "profile/symbolize.h"
#include "base/cleanup.h"
#include "profile/locks.h"
#include "profile/reason.h"
#include "profile/symbolize_internal.h"
#include "profile/strings.h"
#include "profile/sum_label.h"
#include "profile/greenlet_frames.h"
#include "profile/python_frames.h"
#include "profile/told_stacks.h"
#include "profile/wait_frames.h"
#include <string.h>

struct job {
    const struct aggregate *from;
    const struct agg_process *processes; /* of the aggregate */
    const struct agg_stack *stacks;
    size_t nprocesses, nstacks;
    u32 *rank; /* process of the aggregate -> process of the profile */
    struct lookup locations;
    struct naming naming;
    VEC(struct wait_place) waits;
};

/* ---- Order: the profile does not depend on which sample came first ------------------------------------------------
 */

static int compare_u64(u64 a, u64 b)
{
    return a < b ? -1 : a > b;
}

static int by_identity(const void *x, const void *y, void *arg)
{
    const struct job *j = arg;
    const struct agg_process *a = &j->processes[*(const u32 *)x], *b = &j->processes[*(const u32 *)y];
    int r = strcmp(a->comm, b->comm);
    if (!r)
        r = compare_u64(a->tgid, b->tgid);
    if (!r)
        r = compare_u64(a->start, b->start);
    return r ? r : compare_u64(a->cgroup, b->cgroup);
}

/* From the root: neighbours then share most of their frames, which is what call trees and gzip want. */
static int by_frames(const void *x, const void *y, void *arg)
{
    const struct job *j = arg;
    const struct agg_stack *a = &j->stacks[*(const u32 *)x], *b = &j->stacks[*(const u32 *)y];
    int r = compare_u64(j->rank[a->process], j->rank[b->process]);
    size_t na = (size_t)a->nkernel + a->nuser, nb = (size_t)b->nkernel + b->nuser;
    size_t ia = na, ib = nb;
    while (!r && ia && ib)
        r = compare_u64(a->words[--ia], b->words[--ib]);
    if (!r)
        r = compare_u64(na, nb);
    if (!r)
        r = compare_u64(a->nkernel, b->nkernel);
    if (!r)
        r = compare_u64(a->cause, b->cause);
    if (!r)
        r = compare_u64(a->event, b->event);
    const struct agg_thread *t = aggregate_thread(j->from, a->thread), *u = aggregate_thread(j->from, b->thread);
    if (!r)
        r = strcmp(t->name, u->name);
    if (!r)
        r = compare_u64(t->tid, u->tid);
    return r ? r : compare_u64(t->time, u->time);
}

/* 0..n-1, sorted by `compare`. NULL without memory. */
static u32 *sorted_rows(size_t n, int (*compare)(const void *, const void *, void *), struct job *j)
{
    u32 *rows = calloc(n ? n : 1, sizeof(*rows));
    if (!rows)
        return NULL;
    for (size_t i = 0; i < n; i++)
        rows[i] = (u32)i;
    qsort_r(rows, n, sizeof(*rows), compare, j);
    return rows;
}

/* ---- Processes and stacks ---------------------------------------------------------------------------------------- */

static int add_processes(struct job *j, struct profile *out)
{
    AUTO_FREE u32 *rows = sorted_rows(j->nprocesses, by_identity, j);
    if (!rows || VEC_RESERVE(&out->processes, j->nprocesses))
        return -ENOMEM;
    for (u32 i = 0; i < j->nprocesses; i++) {
        const struct agg_process *p = &j->processes[rows[i]];
        j->rank[rows[i]] = i;
        out->processes.v[out->processes.n++] = (struct prof_process){
            .name = profile_string(out, p->comm), .tgid = p->tgid, .start = p->start, .cgroup = p->cgroup};
    }
    return 0;
}

/* Anonymous memory differs from process to process, names of a file may do so. */
static u32 owner_of(const struct job *j, u64 word, u32 process)
{
    const struct name_source *src = j->naming.src;
    bool lock = XP_WORD_KIND(word) == XP_WORD_LOCK && !word_in_file(word);
    if (XP_WORD_KIND(word) == XP_WORD_ANON || XP_IS_RUNTIME(word) || (lock && !XP_LOCK_IN_KERNEL(XP_LOCK_PLACE(word))))
        return process == NOBODYS ? NOBODYS : j->rank[process];
    if (!word_in_file(word) || !src->names_id || process == NOBODYS)
        return 0;
    u32 id = src->names_id(src->ctx, XP_WORD_FILE(word), &j->processes[process]);
    return id == XP_WORD_FILE(word) ? 0 : id;
}

/* The location of a frame, made when it is new. `more`: its second word; 0: it has one only. */
static int location(struct job *j, u64 word, u64 more, u32 process, u32 *out)
{
    struct naming *n = &j->naming;
    u32 owner = owner_of(j, word, process), row;
    u64 hash = hash_u64(word ^ hash_u64(owner ^ more));
    for (struct probe p = lookup_start(&j->locations, hash); lookup_next(&j->locations, &p, &row);)
        if (n->words.v[row] == word && n->more.v[row] == more && n->owners.v[row] == owner) {
            *out = row;
            return 0;
        }
    row = (u32)n->words.n;
    u64 *w = VEC_PUSH(&n->words), *m = VEC_PUSH(&n->more);
    u32 *o = VEC_PUSH(&n->owners);
    struct prof_location *l = VEC_PUSH(&n->out->locations);
    if (!w || !m || !o || !l || lookup_put(&j->locations, hash, row))
        return -ENOMEM;
    *w = word;
    *m = more;
    *o = owner;
    *l = (struct prof_location){.word_kind = (u8)XP_WORD_KIND(word)};
    *out = row;
    return 0;
}

/* The place of a frame that has its name later: that of a wait's cause is known when the kernel's frames have theirs.
 */
static int add_place(struct job *j, const struct wait_place *place)
{
    struct wait_place *w = VEC_PUSH(&j->waits);
    if (!w)
        return -ENOMEM;
    *w = *place;
    w->at = j->naming.out->stack_locations.n;
    j->naming.out->stack_locations.v[j->naming.out->stack_locations.n++] = 0;
    return 0;
}

/* Only the leaf of an interrupted kernel is exact (and kernel words always have the bit). */
static int add_frame(struct job *j, u64 word, u64 more, u32 process, bool exact)
{
    struct profile *out = j->naming.out;
    if (XP_WORD_KIND(word) == XP_WORD_KERNEL && !exact)
        word &= ~XP_WORD_EXACT;
    int r = location(j, word, more, process, &out->stack_locations.v[out->stack_locations.n]);
    out->stack_locations.n += !r;
    return r;
}

/* Nobody knows which process a waker is of, unless it is that of the sleeper. */
static int add_reason(struct job *j, const struct agg_stack *s, struct prof_stack *to)
{
    struct reason_walk walk = {.words = s->words};
    char name[7 * XP_NAME_WORDS + 1];
    bool lock = false;
    u32 waker = XP_WAIT_FLAGS(s->words[0]) & XP_WAIT_OWN ? s->process : NOBODYS;
    u16 nkernel = (u16)(s->nkernel - reason_words(s->words, s->nkernel));
    int r = 0;
    for (struct reason_item item; !r && reason_next(&walk, &item);) {
        u32 kind = XP_WORD_KIND(item.words[0]);
        if (kind == XP_WORD_KERNEL || kind <= XP_WORD_INFERRED)
            r = add_frame(j, item.words[0], 0, waker, false);
        else if (XP_IS_RUNTIME(item.words[0]))
            r = add_frame(j, item.words[0], item.words[1], waker, false);
        else if (kind == XP_WORD_LOCK)
            r = add_frame(j, item.words[0], 0, s->process, lock = true);
        else if (kind == XP_WORD_NAME && !item.waker)
            to->holder = profile_string(j->naming.out, reason_name(item.words, name));
        else if (kind != XP_WORD_WAIT || !lock) /* a lock is the cause itself */
            r = add_place(j, &(struct wait_place){
                                 .words = item.words, .nkernel = nkernel, .stack = (u32)j->naming.out->stacks.n - 1});
    }
    return r;
}

/* What is behind the name of the label is no frame. Returns the number of these words, with the name. */
static size_t add_tag(struct job *j, const struct agg_stack *s, size_t name, struct prof_stack *to)
{
    size_t label = label_words(s->words, s->nkernel);
    char text[SUM_TAG_TEXT];
    if (label > name)
        to->tag = profile_string(j->naming.out, sum_tag_text(s->words + name, label - name, text));
    return label;
}

/* The second word of the frame at i of n words; 0: it has none. */
static u64 more_of(const struct agg_stack *s, size_t i, size_t n)
{
    return i + 1 < n && XP_WORD_KIND(s->words[i + 1]) == XP_WORD_MORE ? s->words[i + 1] : 0;
}

static int add_stack(struct job *j, const struct agg_stack *s)
{
    struct profile *out = j->naming.out;
    size_t n = (size_t)s->nkernel + s->nuser, reason = reason_words(s->words, s->nkernel);
    struct prof_stack *to = VEC_PUSH(&out->stacks);
    const struct agg_thread *thread = aggregate_thread(j->from, s->thread);
    if (!to || VEC_RESERVE(&out->stack_locations, out->stack_locations.n + n))
        return -ENOMEM;
    *to = (struct prof_stack){.process = j->rank[s->process],
                              .thread = profile_string(out, thread->name),
                              .tid = thread->tid,
                              .nstid = thread->nstid,
                              .time = thread->time,
                              .cause = s->cause,
                              .event = s->event};
    to->first = (u32)out->stack_locations.n;
    for (size_t v = 0; v < s->nvalues; v++) {
        to->count[v] = s->values[v].count;
        to->value[v] = s->values[v].value;
    }
    size_t name = label_name_words(s->words, s->nkernel), label = add_tag(j, s, name, to);
    int r = reason     ? add_reason(j, s, to)
            : name > 1 ? add_place(j, &(struct wait_place){.words = s->words, .stack = (u32)out->stacks.n - 1})
                       : 0;
    for (size_t i = name > 1 ? label : reason; i < n && !r; i++)
        if ((!i || i >= label) && XP_WORD_KIND(s->words[i]) != XP_WORD_MORE)
            r = add_frame(j, s->words[i], more_of(s, i, n), s->process, i == label);
    to->n = (u32)(out->stack_locations.n - to->first);
    return r;
}

/* Of kinds that are sparse, a stack counts that has something of the main value. */
static bool is_shown(const struct job *j, const struct agg_stack *s)
{
    const struct profile *p = j->naming.out;
    const struct event_kind *kind = s->event < p->nevents ? p->events[s->event] : NULL;
    return !kind || !kind->sparse || (kind->main < s->nvalues && s->values[kind->main].value);
}

static int add_stacks(struct job *j)
{
    AUTO_FREE u32 *rows = sorted_rows(j->nstacks, by_frames, j);
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < j->nstacks; i++)
        if (is_shown(j, &j->stacks[rows[i]]) && add_stack(j, &j->stacks[rows[i]]))
            return -ENOMEM;
    return 0;
}

int symbolize(const struct aggregate *a, const struct name_source *src, struct profile *out)
{
    struct job j = {.from = a, .naming = {.src = src, .out = out}};
    j.processes = aggregate_processes(a, &j.nprocesses);
    j.stacks = aggregate_stacks(a, &j.nstacks);
    AUTO_FREE u32 *rank = calloc(j.nprocesses + 1, sizeof(*rank));
    j.rank = rank;
    int r = rank ? add_processes(&j, out) : -ENOMEM;
    if (!r)
        r = add_stacks(&j);
    if (!r)
        naming_run(&j.naming);
    if (!r && !j.naming.failed)
        r = wait_frames_add(out, j.waits.v, j.waits.n);
    if (!r && !j.naming.failed)
        r = locks_judge(out, src->hide_idle);
    if (!r)
        told_stacks_trim(out);
    if (!r)
        python_frames_fold(out);
    if (!r)
        r = greenlet_frames_trim(out);
    if (j.naming.failed || strings_failed(out->strings))
        r = -ENOMEM;
    vec_free(&j.waits);
    lookup_free(&j.locations);
    naming_free(&j.naming);
    return r;
}
