#include "timeline/store.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "timeline/chunk.h"
#include <errno.h>
#include <string.h>

#define FRAMES_FIRST (XP_TL_STACKS + 1) /* numbers below are keys of the kernel side, + 1 */
#define THREAD_BYTES (sizeof(struct tl_thread) + sizeof(struct tl_now) + sizeof(struct map_slot))

struct cpu {
    struct tl_chunk *head, *tail; /* oldest, newest */
};
struct tl_store {
    struct tl_machine machine; /* as it was when the first chunks begin */
    VEC(struct tl_thread) threads;
    VEC(struct tl_frames) frames;
    struct map rows;   /* thread ID -> row */
    struct map stacks; /* hash of frames -> number */
    struct cpu *cpus;
    size_t nchunks, budget;
    bool all_listed;
    struct tl_figures figures;
};

static void free_chunks(struct tl_chunk *c)
{
    while (c) {
        struct tl_chunk *next = c->next;
        free(c);
        c = next;
    }
}

int store_new(struct tl_store **out, u32 ncpus, u64 begin, size_t budget)
{
    struct tl_store *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->budget = budget;
    s->cpus = calloc(ncpus, sizeof(*s->cpus));
    struct tl_thread *idle = VEC_PUSH(&s->threads);
    if (!s->cpus || !idle || machine_init(&s->machine, ncpus)) {
        store_free(&s);
        return -ENOMEM;
    }
    *idle = (struct tl_thread){.comm = "idle", .process = "idle"};
    s->machine.begin = begin;
    *out = s;
    return 0;
}

void store_free(struct tl_store **all)
{
    struct tl_store *s = *all;
    if (!s)
        return;
    for (u32 c = 0; s->cpus && c < s->machine.ncpus; c++)
        free_chunks(s->cpus[c].head);
    free(s->cpus);
    machine_free(&s->machine);
    vec_free(&s->threads);
    vec_free(&s->frames);
    map_free(&s->rows);
    map_free(&s->stacks);
    free(TAKE_PTR(*all));
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static size_t bytes_of(const struct tl_store *s)
{
    return s->nchunks * sizeof(struct tl_chunk) + s->threads.n * THREAD_BYTES + s->frames.n * sizeof(struct tl_frames);
}

/* The CPU whose first chunk ended longest ago, and is not the one that is being filled, unless there are no others. */
static struct cpu *oldest(struct tl_store *s, bool any)
{
    struct cpu *best = NULL;
    for (u32 c = 0; c < s->machine.ncpus; c++) {
        struct cpu *cpu = &s->cpus[c];
        if (cpu->head && (any || cpu->head != cpu->tail) && (!best || cpu->head->last < best->head->last))
            best = cpu;
    }
    return best;
}

static void drop(struct tl_store *s, struct cpu *cpu)
{
    struct tl_chunk *c = cpu->head;
    struct tl_cursor at = chunk_start(c, (u32)(cpu - s->cpus));
    for (struct tl_event e; chunk_next(&at, false, &e);) {
        machine_apply(&s->machine, &e, NULL);
        s->machine.threads.v[e.thread].assumed = 1; /* other CPUs may know better */
        if (e.type == XP_TL_SWITCH)
            s->machine.threads.v[e.other].assumed = 1;
    }
    s->figures.dropped += c->events;
    if (c->last > s->machine.begin)
        s->machine.begin = c->last;
    cpu->head = c->next;
    if (!cpu->head)
        cpu->tail = NULL;
    s->nchunks--;
    free(c);
}

static void note_bytes(struct tl_figures *f, const struct tl_store *s)
{
    if (bytes_of(s) > f->bytes)
        f->bytes = bytes_of(s);
}

static struct tl_chunk *new_chunk(struct tl_store *s, struct cpu *cpu)
{
    struct tl_chunk *last = cpu->tail;
    u32 current = last ? last->current_end : 0;
    while (bytes_of(s) + sizeof(*last) > s->budget && s->nchunks) {
        struct cpu *from = oldest(s, false);
        drop(s, from ? from : oldest(s, true));
    }
    struct tl_chunk *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->current = c->current_end = current;
    *(cpu->tail ? &cpu->tail->next : &cpu->head) = c;
    cpu->tail = c;
    s->nchunks++;
    note_bytes(&s->figures, s);
    return c;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* The list is read when births are told already, and these after it: whoever was born in between is in both. */
static u32 listed_after(const struct tl_store *s, u32 tid, u64 birth)
{
    const uint64_t *row = map_get(&s->rows, tid);
    return row && !s->threads.v[*row].gone && s->threads.v[*row].listed > birth ? (u32)*row : 0;
}

/* Threads may have a quarter of the memory. */
u32 store_born(struct tl_store *s, u32 tid, u64 now)
{
    u32 same = listed_after(s, tid, now);
    if (same) {
        machine_assume(&s->machine, same, &(struct tl_now){.since = now, .cpu = -1, .from = -1});
        return same;
    }
    if (s->threads.n * THREAD_BYTES > s->budget / 4)
        return 0;
    uint64_t *row = map_put(&s->rows, tid);
    struct tl_thread *t = row ? VEC_PUSH(&s->threads) : NULL;
    if (!t)
        return 0;
    if (machine_add(&s->machine, s->all_listed ? now : s->machine.begin)) {
        s->threads.n--;
        return 0;
    }
    *t = (struct tl_thread){.tid = tid, .tgid = tid};
    *row = s->threads.n - 1;
    return (u32)*row;
}

u32 store_thread(struct tl_store *s, u32 tid, u64 now)
{
    if (!tid)
        return 0;
    const uint64_t *row = map_get(&s->rows, tid);
    return row && !s->threads.v[*row].gone ? (u32)*row : store_born(s, tid, now);
}

struct tl_thread *store_row(const struct tl_store *s, u32 row)
{
    return &s->threads.v[row];
}

u32 store_rows(const struct tl_store *s)
{
    return (u32)s->threads.n;
}

void store_all_listed(struct tl_store *s)
{
    s->all_listed = true;
}

static u32 number_of(struct tl_store *s, const struct xp_tl_listed *l)
{
    struct tl_frames f = {.n = l->nframes < XP_TL_FRAMES ? l->nframes : XP_TL_FRAMES};
    if (!f.n)
        return 0;
    memcpy(f.v, l->frames, f.n * sizeof(*f.v));
    uint64_t *number = map_put(&s->stacks, hash_bytes(f.v, f.n * sizeof(*f.v), 0));
    if (!number || (!*number && s->frames.n >= TL_LISTED_STACKS))
        return 0;
    struct tl_frames *row = *number ? NULL : VEC_PUSH(&s->frames);
    if (!*number && !row)
        return 0;
    if (row) {
        *row = f;
        *number = FRAMES_FIRST + s->frames.n - 1;
    }
    return (u32)*number;
}

void store_listed(struct tl_store *s, u32 row, const struct xp_tl_listed *l)
{
    struct tl_now now = {.since = s->machine.begin, .cpu = -1, .from = -1, .flags = l->flags & (XP_TL_IO | XP_TL_DEEP)};
    now.doing = l->on_cpu                   ? TL_RUNNING
                : l->flags & XP_TL_DEAD     ? TL_GONE
                : l->flags & XP_TL_RUNNABLE ? TL_RUNNABLE
                                            : TL_BLOCKED;
    now.stack = now.doing == TL_BLOCKED ? number_of(s, l) : 0;
    if (row) {
        s->threads.v[row].listed = l->task.time;
        machine_assume(&s->machine, row, &now);
    }
}

const struct tl_frames *store_frames(const struct tl_store *s, u32 stack)
{
    return stack >= FRAMES_FIRST && stack - FRAMES_FIRST < s->frames.n ? &s->frames.v[stack - FRAMES_FIRST] : NULL;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static bool sound(const struct tl_store *s, const struct xp_tl_event *e)
{
    return e->type >= XP_TL_SWITCH && e->type <= XP_TL_WAKEUP && e->cpu < s->machine.ncpus &&
           (e->type != XP_TL_WAKEUP || e->other < s->machine.ncpus);
}

int store_event(struct tl_store *s, const struct xp_tl_event *e)
{
    struct tl_event event = {
        .type = e->type, .flags = e->flags, .running = e->running, .cpu = e->cpu, .time = e->time, .ran = e->ran};
    if (!sound(s, e))
        return 0;
    event.thread = store_thread(s, e->thread, e->time);
    event.other = e->type == XP_TL_WAKEUP ? e->other : store_thread(s, e->other, e->time);
    event.stack = e->stack >= 0 && e->stack < XP_TL_STACKS ? (u32)e->stack + 1 : 0;
    s->figures.switches += e->type == XP_TL_SWITCH;
    s->figures.wakeups += e->type == XP_TL_WAKEUP;
    s->figures.left_out += (e->thread && !event.thread) || (e->type != XP_TL_WAKEUP && e->other && !event.other);
    if (e->type == XP_TL_SWITCH && e->flags & XP_TL_DEAD && event.thread)
        s->threads.v[event.thread].gone = 1;
    struct cpu *cpu = &s->cpus[e->cpu];
    if (cpu->tail && chunk_add(cpu->tail, &event))
        return 0;
    struct tl_chunk *c = new_chunk(s, cpu);
    return c && chunk_add(c, &event) ? 0 : -ENOMEM;
}

struct tl_cursor store_events(const struct tl_store *s, u32 cpu)
{
    return chunk_start(s->cpus[cpu].head, cpu);
}

const struct tl_machine *store_machine(const struct tl_store *s)
{
    return &s->machine;
}

struct tl_figures store_figures(const struct tl_store *s)
{
    struct tl_figures f = s->figures;
    note_bytes(&f, s);
    return f;
}
