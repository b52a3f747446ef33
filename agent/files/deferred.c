#include "files/deferred.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/host/unwind_host.h"
#include "files/code_tables.h"
#include "files/files_internal.h"
#include "files/machine_memory.h"
#include "profile/frames.h"
#include <errno.h>
#include <string.h>

#define DEFERRED_MAX      512   /* waiting at once: 12 MiB of stacks */
#define DEFERRED_GAPS     256   /* of these, for rows: the others are for files that are new */
#define DEFERRED_ROWS_MS  2500  /* longer than a file is open */
#define DEFERRED_NEXT_MS  16000 /* for the next table of a file that is read by stretches: there are pauses */
#define DEFERRED_CODE_MS  600   /* for a look at what made code in its process */
#define DEFERRED_FILES_MS 10000 /* for a file to be opened and built: thousands may be in front of it */

struct waiting {
    struct deferred_job job;
    u64 since;
    u32 gap;    /* the file whose rows it waits for; 0: none */
    u32 uid;    /* of that file's table */
    u32 table;  /* the file whose table it waits for */
    bool asked; /* for what is to be known of its runtime */
};

struct deferred {
    struct probe *probe;
    struct files *files;
    const struct code_tables *code; /* NULL: none */
    struct machine_memory *machine; /* the same */
    VEC(struct waiting) list;
    struct shares shares;   /* of these, by cgroup */
    struct shares gaps;     /* of those that wait for rows */
    struct xp_state *state; /* large: one for all */
    u64 rescued;
    bool ending;                                           /* deferred_end */
    bool (*use_stack)(void *ctx, struct xp_sample *stack); /* NULL: there are none */
    void *stack_ctx;
};

void deferred_job_free(struct deferred_job *j)
{
    free(TAKE_PTR(j->sample));
    free(TAKE_PTR(j->dump));
}

int deferred_new(struct deferred **out, struct probe *probe, struct files *files)
{
    struct deferred *l = calloc(1, sizeof(*l));
    if (!l || !(l->state = calloc(1, sizeof(*l->state)))) {
        free(l);
        return -ENOMEM;
    }
    l->probe = probe;
    l->files = files;
    l->shares.limit = DEFERRED_MAX;
    l->gaps.limit = DEFERRED_GAPS;
    *out = l;
    return 0;
}

void deferred_use_code(struct deferred *l, const struct code_tables *code)
{
    l->code = code;
}

int deferred_use_machines(struct deferred *l, const struct machine_source *from)
{
    return machine_memory_new(&l->machine, from);
}

void deferred_use_stacks(struct deferred *l, bool (*use)(void *ctx, struct xp_sample *stack), void *ctx)
{
    l->use_stack = use;
    l->stack_ctx = ctx;
}

/* Its frames are still to be named, which those do who count others. */
static bool has_runtime(const struct xp_sample *s)
{
    for (unsigned i = s->nkernel; i < (unsigned)s->nkernel + s->nuser; i++)
        if (XP_IS_RUNTIME(s->words[i]))
            return true;
    return false;
}

/* Takes ownership. */
static void pass_on(struct deferred *l, struct xp_sample *s, struct aggregate *into)
{
    bool back = s->type == XP_RECORD_STACK || has_runtime(s);
    if (back && l->use_stack && l->use_stack(l->stack_ctx, s))
        return;
    aggregate_add(into, s);
    free(s);
}

void deferred_free(struct deferred **ll)
{
    struct deferred *l = *ll;
    if (!l)
        return;
    for (size_t i = 0; i < l->list.n; i++)
        deferred_job_free(&l->list.v[i].job);
    vec_free(&l->list);
    shares_free(&l->shares);
    shares_free(&l->gaps);
    machine_memory_free(&l->machine);
    free(l->state);
    free(l);
    *ll = NULL;
}

static u32 gap_of(u32 cause, const u64 *user, u32 n, u64 *offset)
{
    bool stopped = n && (cause == XP_CAUSE_NO_RULE || cause == XP_CAUSE_FP_BROKEN);
    if (!stopped || XP_WORD_KIND(user[n - 1]) == XP_WORD_ANON)
        return 0;
    *offset = XP_WORD_OFFSET(user[n - 1]) - !(user[n - 1] & XP_WORD_EXACT);
    return XP_WORD_FILE(user[n - 1]);
}

u32 deferred_gap_of(const struct xp_sample *s, u64 *offset)
{
    return gap_of(s->cause, s->words + s->nkernel, s->nuser, offset);
}

static u64 owner_of(const struct deferred *l, const struct xp_sample *s)
{
    return l->files->share ? s->cgroup : SHARES_ALL;
}

/* It waits for rows, if there is room; false: there is none, or they will not come. */
static bool wait_for_rows(struct deferred *l, struct waiting *w, u32 gap)
{
    u64 owner = owner_of(l, w->job.sample);
    shares_give(&l->gaps, owner, w->gap != 0);
    w->gap = gap && files_is_open(l->files, gap) && shares_take(&l->gaps, owner, 1) ? gap : 0;
    w->uid = w->gap ? files_get(l->files, gap)->value.uid : 0;
    return w->gap;
}

void deferred_add(struct deferred *l, struct deferred_job job, struct aggregate *into)
{
    u64 owner = owner_of(l, job.sample);
    bool fits = shares_take(&l->shares, owner, 1);
    struct waiting *w = fits ? VEC_PUSH(&l->list) : NULL;
    if (!w) {
        shares_give(&l->shares, owner, fits);
        pass_on(l, TAKE_PTR(job.sample), into);
        deferred_job_free(&job);
        return;
    }
    *w = (struct waiting){.job = job, .since = now_ns()};
}

/* Without the process, it cannot be checked that return addresses follow calls. */
static void resolve_code(const struct deferred *l, const struct waiting *w, const struct xp_machine *machine,
                         struct xp_vma *m)
{
    const struct xp_sample *s = w->job.sample;
    if (machine && machine->kind == XP_MACHINE_JVM && XP_JVM_MEETS(&machine->jvm, m))
        m->file.state = XP_FILE_JVM;
    const struct xp_file *known = l->code ? code_tables_find(l->code, s->tgid, s->start, m->start, s->time) : NULL;
    if (!known)
        return;
    m->file = *known;
    m->bias = m->start;
}

static size_t resolve_mappings(const struct deferred *l, const struct waiting *w, const struct xp_machine *machine,
                               struct xp_vma *out)
{
    size_t n = 0;
    for (; n < w->job.dump->nmaps; n++) {
        const struct xp_mapping *m = &w->job.dump->maps[n];
        const struct file *f = m->file ? files_get(l->files, m->file) : NULL;
        out[n] = (struct xp_vma){.start = m->start, .end = m->end, .bias = m->start - m->pgoff};
        out[n].file.state = XP_FILE_FP;
        if (f && f->value.id)
            out[n].file = f->value;
        else if (m->file) /* its table is still to be built */
            out[n].file = (struct xp_file){.id = m->file, .state = XP_FILE_PENDING};
        else
            resolve_code(l, w, machine, &out[n]);
    }
    return n;
}

/* Asks for the rows that a stack needs where it stopped, and beyond that. */
static void want_rows(struct deferred *l, const struct host_space *space)
{
    u64 offset, chain[HOST_CHAIN_MAX];
    u32 gap = gap_of(l->state->cause, l->state->words, l->state->sample.nuser, &offset);
    if (!gap)
        return;
    files_want_synth(l->files, gap, offset);
    size_t n = host_chain(space, l->state, gap, chain);
    for (size_t i = 0; i < n; i++)
        files_want_synth(l->files, gap, chain[i]);
}

/* Tells whether the rows that it waits for are still to come. */
static bool rows_come(const struct deferred *l, const struct waiting *w)
{
    const struct file *e = files_get(l->files, w->gap);
    return e && e->value.uid == w->uid && files_is_open(l->files, w->gap);
}

/* Frames of Python, and objects of V8 that frames refer to, are those of the copied stack only as long as its thread
 * has slept. */
static bool is_stale(const struct deferred *l, const struct xp_machine *machine)
{
    return machine && machine->kind != XP_MACHINE_JVM && !machine_memory_sleeps(l->machine);
}

/* False: the machine was no help, because the thread had others of its frames by now. */
static bool unwind(struct deferred *l, const struct waiting *w, const struct xp_machine *machine, struct xp_vma *vmas)
{
    struct host_space space = {
        .rules = probe_rule_array(l->probe),
        .vmas = vmas,
        .nvmas = resolve_mappings(l, w, machine, vmas),
        .machine = machine,
        .tls = w->job.dump->tls,
        .read = machine      ? machine_memory_read
                : l->machine ? machine_memory_copy
                             : dump_read,
        .read_stack = l->machine ? machine_memory_stack : dump_read,
        .ctx = l->machine ? (void *)l->machine : w->job.dump,
    };
    space.words = probe_shard_words(l->probe, &space.nwords);
    host_unwind(&space, &w->job.dump->regs, l->state);
    if (is_stale(l, machine))
        return false;
    want_rows(l, &space);
    return true;
}

/* The sample with the frames that the second unwind found; NULL when they are no better. */
static struct xp_sample *rebuild(struct deferred *l, const struct waiting *w)
{
    const struct xp_sample *old = w->job.sample;
    AUTO_FREE struct xp_vma *vmas = calloc(w->job.dump->nmaps + 1, sizeof(*vmas));
    l->state->sample.nuser = 0;
    l->state->cause = XP_CAUSE_NO_MAPPING;
    if (!vmas || !w->job.dump->nmaps)
        return NULL;
    const struct xp_machine *machine = machine_memory_begin(l->machine, old, w->job.dump);
    if (is_stale(l, machine) || !unwind(l, w, machine, vmas))
        unwind(l, w, NULL, vmas);
    u32 cause = l->state->cause, n = l->state->sample.nuser;
    if (cause_class((u8)cause) != 'c' && (n <= old->nuser || cause_class(old->cause) == 'c'))
        return NULL;
    bool returned = old->flags & XP_SAMPLE_RETURNED && old->nuser && n && n < XP_MAX_USER;
    u32 kept = (u32)old->nkernel + returned;
    struct xp_sample *s = malloc(sizeof(*s) + 8ull * (kept + n));
    if (!s)
        return NULL;
    *s = *old;
    if (returned)
        l->state->words[0] &= ~XP_WORD_EXACT; /* the copied registers are those behind the call */
    memcpy(s->words, old->words, 8ull * kept);
    memcpy(s->words + kept, l->state->words, 8ull * n);
    s->nuser = (u16)(n + returned);
    s->cause = cause == XP_CAUSE_STACK_READ && w->job.dump->len >= XP_DUMP_BYTES - 4096 ? XP_CAUSE_DUMP_END : (u8)cause;
    l->rescued += cause_class((u8)cause) == 'c';
    return s;
}

/* Tells whether the table that it waits for is still to be built: others may be in front of it, or the file could not
 * be opened by the first process that mapped it. */
static bool table_comes(const struct deferred *l, const struct waiting *w)
{
    unsigned patience = l->ending ? DEFERRED_ROWS_MS : DEFERRED_FILES_MS;
    const struct file *f = w->table ? files_get(l->files, w->table) : NULL;
    return f && f->value.state == XP_FILE_PENDING && now_ns() - w->since < patience * 1000000ull;
}

/* Tells whether it stopped in code of no file whose process may still be looked at. */
static bool code_comes(const struct deferred *l, const struct waiting *w)
{
    u32 cause = l->state->cause;
    return l->machine && !l->ending && (cause == XP_CAUSE_FP_ANON || cause == XP_CAUSE_FP_ANON_END) &&
           now_ns() - w->since < DEFERRED_CODE_MS * 1000000ull;
}

/* The same of one that meets the loop of an interpreter of which nothing is known, while its thread sleeps. Whoever
 * knows how to look at the process is asked, once. */
static bool runtime_comes(const struct deferred *l, struct waiting *w)
{
    bool sought = l->state->sample.flags & XP_SAMPLE_RUNTIME && !l->ending && machine_memory_sleeps(l->machine);
    struct xp_sample *ask = sought && !w->asked && l->use_stack ? malloc(sizeof(*ask)) : NULL;
    if (ask) {
        *ask = *w->job.sample;
        ask->type = XP_RECORD_NONE;
        ask->nkernel = ask->nuser = 0;
        if (!l->use_stack(l->stack_ctx, ask))
            free(ask);
        w->asked = true;
    }
    return sought && now_ns() - w->since < DEFERRED_CODE_MS * 1000000ull;
}

/* The file in which it stopped because there is no table; 0: in none. */
static u32 missed_table(const struct deferred *l)
{
    u32 n = l->state->sample.nuser;
    return l->state->cause == XP_CAUSE_PENDING && n ? XP_WORD_FILE(l->state->words[n - 1]) : 0;
}

/* False: it waits on, for the table of a file, or for rows of the code in which it stopped. */
static bool finish(struct deferred *l, struct waiting *w, bool last, struct aggregate *into)
{
    AUTO_FREE struct xp_sample *better = rebuild(l, w);
    u64 offset;
    w->table = missed_table(l);
    if (table_comes(l, w) || code_comes(l, w) || runtime_comes(l, w))
        return false;
    u32 gap = gap_of(l->state->cause, l->state->words, l->state->sample.nuser, &offset);
    if (wait_for_rows(l, w, last ? 0 : gap))
        return false;
    shares_give(&l->shares, owner_of(l, w->job.sample), 1);
    pass_on(l, better ? TAKE_PTR(better) : TAKE_PTR(w->job.sample), into);
    deferred_job_free(&w->job);
    return true;
}

/* A file that was announced with the stack has not come from those who open files. */
static bool misses_file(const struct deferred *l, const struct waiting *w)
{
    for (u32 i = 0; i < w->job.dump->nmaps; i++) {
        u32 id = w->job.dump->maps[i].file;
        if (id && id != XP_FILE_VDSO && !files_get(l->files, id))
            return true;
    }
    return false;
}

void deferred_end(struct deferred *l)
{
    if (!l->ending)
        files_end_pauses(l->files);
    l->ending = true;
}

/* How long it waits for rows. Nothing is waited for at the end that is not made at once. */
static u64 patience_ns(const struct deferred *l, const struct waiting *w)
{
    const struct file *e = w->gap && !l->ending ? files_get(l->files, w->gap) : NULL;
    return (e && e->stretches.on ? DEFERRED_NEXT_MS : DEFERRED_ROWS_MS) * 1000000ull;
}

void deferred_run(struct deferred *l, unsigned min_age_ms, struct aggregate *into)
{
    u64 now = now_ns();
    size_t kept = 0;
    for (size_t i = 0; i < l->list.n; i++) {
        struct waiting *w = &l->list.v[i];
        bool last = now - w->since > patience_ns(l, w);
        bool young = now - w->since < min_age_ms * 1000000ull || (w->gap && !last && rows_come(l, w)) ||
                     table_comes(l, w) ||
                     (!l->ending && now - w->since < DEFERRED_FILES_MS * 1000000ull && misses_file(l, w));
        if (young || !finish(l, w, last, into))
            l->list.v[kept++] = *w;
    }
    l->list.n = kept;
    machine_memory_forget(l->machine);
}

size_t deferred_waiting(const struct deferred *l)
{
    return l->list.n;
}

u64 deferred_rescued(const struct deferred *l)
{
    return l->rescued;
}
