#include "timeline/machine.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int machine_init(struct tl_machine *m, u32 ncpus)
{
    *m = (struct tl_machine){.cpus = calloc(ncpus, sizeof(*m->cpus)), .ncpus = ncpus};
    return m->cpus && !machine_add(m, 0) ? 0 : -ENOMEM;
}

void machine_free(struct tl_machine *m)
{
    free(m->cpus);
    vec_free(&m->threads);
    m->cpus = NULL;
}

int machine_copy(struct tl_machine *to, const struct tl_machine *from)
{
    *to = (struct tl_machine){.begin = from->begin, .ncpus = from->ncpus};
    to->cpus = calloc(from->ncpus, sizeof(*to->cpus));
    if (!to->cpus || VEC_RESERVE(&to->threads, from->threads.n))
        return -ENOMEM;
    memcpy(to->cpus, from->cpus, from->ncpus * sizeof(*to->cpus));
    memcpy(to->threads.v, from->threads.v, from->threads.n * sizeof(*to->threads.v));
    to->threads.n = from->threads.n;
    return 0;
}

int machine_add(struct tl_machine *m, u64 since)
{
    struct tl_now *n = VEC_PUSH(&m->threads);
    if (n)
        *n = (struct tl_now){.since = since, .cpu = -1, .from = -1, .assumed = 1};
    return n ? 0 : -ENOMEM;
}

void machine_assume(struct tl_machine *m, u32 thread, const struct tl_now *now)
{
    m->threads.v[thread] = *now;
    m->threads.v[thread].assumed = 1;
}

/* ---- What is told ------------------------------------------------------------------------------------------------ */

static u64 later(u64 a, u64 b)
{
    return a > b ? a : b;
}

static void tell(const struct tl_machine *m, u32 thread, u64 end, const struct tl_visitor *v)
{
    const struct tl_now *n = &m->threads.v[thread];
    struct tl_slice s = {later(n->since, m->begin), end, thread, n->stack, n->cpu, n->from, n->doing, n->flags};
    if (v && v->slice && n->doing != TL_UNKNOWN && n->doing != TL_GONE && s.end > s.begin)
        v->slice(v->ctx, &s);
}

static void tell_run(const struct tl_machine *m, u32 cpu, u64 end, const struct tl_visitor *v)
{
    const struct tl_cpu *c = &m->cpus[cpu];
    u64 begin = later(c->since, m->begin);
    if (v && v->run && c->known && c->thread && end > begin)
        v->run(v->ctx, cpu, c->thread, begin, end);
}

static void tell_queue(const struct tl_machine *m, u32 cpu, const struct tl_event *e, const struct tl_visitor *v)
{
    if (v && v->queue && e->time >= m->begin && cpu < m->ncpus)
        v->queue(v->ctx, cpu, e->time, e->running);
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* When the thread that leaves began to run; if it does not say so, since it was seen last, or just now. */
static u64 began(const struct tl_event *e, const struct tl_now *n)
{
    if (e->ran == UINT32_MAX || e->ran > e->time)
        return n->assumed ? n->since : e->time;
    return later(n->since, e->time - e->ran);
}

/* It had the CPU, which another one has by now. */
static void lose(struct tl_machine *m, u32 thread, u32 cpu, u64 time, const struct tl_visitor *v)
{
    struct tl_now *n = &m->threads.v[thread];
    if (!thread || n->doing != TL_RUNNING || n->cpu != (s32)cpu)
        return;
    tell(m, thread, time, v);
    n->doing = TL_RUNNABLE;
    n->since = time;
    n->assumed = 1;
}

/* Some kernels switch threads without a word now and then. A thread that leaves says for how long it ran; who had the
 * CPU before is gone by then, nobody knows where. */
static void recover(struct tl_machine *m, const struct tl_event *e, const struct tl_visitor *v)
{
    struct tl_cpu *c = &m->cpus[e->cpu];
    struct tl_now *n = &m->threads.v[e->thread];
    u64 start = began(e, n);
    if (!c->known || c->thread != e->thread) {
        u64 left = later(c->since, start);
        tell_run(m, e->cpu, left, v);
        if (c->known)
            lose(m, c->thread, e->cpu, left, v);
        c->known = 1;
        c->thread = e->thread;
        c->since = start = left;
    }
    if (e->thread && n->doing != TL_RUNNING) {
        tell(m, e->thread, start, v);
        n->doing = TL_RUNNING;
        n->since = start;
        n->from = -1;
    }
}

static void leave(struct tl_machine *m, const struct tl_event *e, const struct tl_visitor *v)
{
    struct tl_now *n = &m->threads.v[e->thread];
    n->cpu = (s32)e->cpu;
    tell(m, e->thread, e->time, v);
    n->doing = e->flags & XP_TL_DEAD ? TL_GONE : e->flags & XP_TL_RUNNABLE ? TL_RUNNABLE : TL_BLOCKED;
    n->flags = e->flags & (XP_TL_IO | XP_TL_DEEP);
    n->stack = e->stack;
    n->since = e->time;
    n->assumed = 0;
}

static void arrive(struct tl_machine *m, const struct tl_event *e, const struct tl_visitor *v)
{
    struct tl_now *n = &m->threads.v[e->other];
    if (n->doing == TL_RUNNING && n->assumed) /* it had left meanwhile */
        n->doing = TL_RUNNABLE;
    tell(m, e->other, e->time, v);
    n->doing = TL_RUNNING;
    n->flags = 0;
    n->stack = 0;
    n->woken = 0;
    n->since = e->time;
    n->from = n->cpu >= 0 && n->cpu != (s32)e->cpu ? n->cpu : -1;
    n->cpu = (s32)e->cpu;
    n->assumed = 0;
}

static void switch_to(struct tl_machine *m, const struct tl_event *e, const struct tl_visitor *v)
{
    struct tl_cpu *c = &m->cpus[e->cpu];
    recover(m, e, v);
    tell_run(m, e->cpu, e->time, v);
    if (e->thread)
        leave(m, e, v);
    if (e->other)
        arrive(m, e, v);
    c->thread = e->other;
    c->since = e->time;
    tell_queue(m, e->cpu, e, v);
}

/* The scheduler says who is woken up by whom before it is sure that the thread has left its CPU. */
static void on_waking(struct tl_machine *m, const struct tl_event *e)
{
    struct tl_now *n = &m->threads.v[e->thread];
    n->woken = e->time;
    n->waker = e->other;
    n->interrupt = (e->flags & XP_TL_INTERRUPT) != 0;
}

static void on_wakeup(struct tl_machine *m, const struct tl_event *e, const struct tl_visitor *v)
{
    struct tl_now *n = &m->threads.v[e->thread];
    struct tl_wake w = {e->time, e->time, e->thread, 0, false};
    if (n->woken)
        w = (struct tl_wake){n->woken, e->time, e->thread, n->waker, n->interrupt};
    n->woken = 0;
    if (n->assumed && n->doing == TL_RUNNABLE) /* it is not known how it had left */
        n->doing = TL_BLOCKED;
    if (n->doing == TL_RUNNING || n->doing == TL_RUNNABLE)
        return;
    tell(m, e->thread, e->time, v);
    n->doing = TL_RUNNABLE;
    n->since = e->time;
    n->stack = 0;
    n->flags = n->assumed = 0;
    if (v && v->wake && w.from >= m->begin)
        v->wake(v->ctx, &w);
}

void machine_apply(struct tl_machine *m, const struct tl_event *e, const struct tl_visitor *v)
{
    if (e->type == XP_TL_SWITCH)
        switch_to(m, e, v);
    else if (e->type == XP_TL_WAKING && e->thread)
        on_waking(m, e);
    else if (e->type == XP_TL_WAKEUP) {
        if (e->thread)
            on_wakeup(m, e, v);
        tell_queue(m, e->other, e, v);
    }
}

void machine_end(struct tl_machine *m, u64 end, const struct tl_visitor *v)
{
    for (u32 i = 1; i < m->threads.n; i++)
        tell(m, i, end, v);
    for (u32 c = 0; c < m->ncpus; c++)
        tell_run(m, c, end, v);
}
