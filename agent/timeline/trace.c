/* Chrome's trace event format (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), which Perfetto
 * and chrome://tracing read. Threads have slices of what they do; CPUs are the threads of one more process; arrows go
 * from who wakes up to who is woken up.
 */
#include "profile/text.h"
#include "timeline/writer.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BY_NOBODY 0u
#define BY_IRQ    UINT32_MAX
#define NO_QUEUE  UINT32_MAX

struct writer {
    struct tl_view *v;
    u32 *wakers; /* of threads that are runnable and have no arrow: row of who woke them up, BY_NOBODY or BY_IRQ */
    u32 *queues; /* length of run queues, as written last */
    bool *seen;  /* CPUs that have a name */
    u64 arrows;
    bool any; /* there is an element in the array already */
};

static struct buf *begin(struct writer *w, const char *phase, u32 pid, u32 tid)
{
    struct buf *out = &w->v->buf;
    buf_str(out, w->any ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    w->any = true;
    buf_str(out, phase);
    buf_str(out, "\",\"pid\":");
    text_uint(out, pid);
    buf_str(out, ",\"tid\":");
    text_uint(out, tid);
    return out;
}

static void put_time(struct writer *w, u64 time)
{
    buf_str(&w->v->buf, ",\"ts\":");
    put_us(&w->v->buf, time - w->v->begin);
}

static void put_slice(struct writer *w, u64 begin, u64 end)
{
    put_time(w, begin);
    buf_str(&w->v->buf, ",\"dur\":");
    put_us(&w->v->buf, end - begin);
}

static void end(struct writer *w)
{
    buf_char(&w->v->buf, '}');
    view_flush(w->v, false);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static void put_name(struct writer *w, const char *what, u32 pid, u32 tid, const char *name)
{
    struct buf *out = begin(w, "M", pid, tid);
    buf_printf(out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
    buf_json(out, name);
    buf_char(out, '}');
    end(w);
}

static void put_cpus(struct writer *w)
{
    put_name(w, "process_name", VIEW_CPUS, VIEW_CPUS, "CPUs");
    struct buf *out = begin(w, "M", VIEW_CPUS, VIEW_CPUS);
    buf_str(out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":-1}");
    end(w);
}

static void put_threads(struct writer *w)
{
    for (u32 i = 1; i < store_rows(w->v->store); i++) {
        const struct tl_thread *t = store_row(w->v->store, i);
        if (!t->wanted)
            continue;
        put_name(w, "process_name", t->tgid, t->tid, view_process(t));
        put_name(w, "thread_name", t->tgid, t->tid, t->comm);
    }
}

/* ---- Slices ------------------------------------------------------------------------------------------------------ */

static void add_running(struct buf *out, const struct tl_slice *s)
{
    buf_str(out, ",\"name\":\"running\",\"cat\":\"running\"");
    if (s->cpu >= 0)
        buf_printf(out, s->from >= 0 ? ",\"args\":{\"cpu\":%d,\"from\":%d}" : ",\"args\":{\"cpu\":%d}", s->cpu,
                   s->from);
}

static void add_runnable(struct writer *w, struct buf *out, const struct tl_slice *s)
{
    u32 waker = w->wakers[s->thread];
    char who[VIEW_WHO];
    buf_str(out, ",\"name\":\"runnable\",\"cat\":\"runnable\"");
    if (waker == BY_IRQ) {
        buf_str(out, ",\"args\":{\"waker\":\"interrupt\"}");
    } else if (waker) {
        buf_str(out, ",\"args\":{\"waker\":");
        view_who(store_row(w->v->store, waker), who);
        buf_json(out, who);
        buf_char(out, '}');
    }
    w->wakers[s->thread] = BY_NOBODY;
}

static void add_blocked(struct writer *w, struct buf *out, const struct tl_slice *s)
{
    AUTO_BUF struct buf name = {0};
    buf_printf(&name, "blocked %s", causes_text(w->v->causes, w->v->store, s));
    buf_str(out, ",\"name\":");
    buf_json(out, name.data ? name.data : "blocked");
    buf_str(out, ",\"cat\":\"blocked\"");
}

static void on_slice(void *ctx, const struct tl_slice *s)
{
    struct writer *w = ctx;
    const struct tl_thread *t = store_row(w->v->store, s->thread);
    if (!t->wanted)
        return;
    struct buf *out = begin(w, "X", t->tgid, t->tid);
    put_slice(w, s->begin, s->end);
    if (s->doing == TL_RUNNING)
        add_running(out, s);
    else if (s->doing == TL_RUNNABLE)
        add_runnable(w, out, s);
    else
        add_blocked(w, out, s);
    end(w);
}

/* ---- Arrows ------------------------------------------------------------------------------------------------------ */

static void put_arrow(struct writer *w, const char *phase, const struct tl_thread *t, u64 time)
{
    struct buf *out = begin(w, phase, t->tgid, t->tid);
    put_time(w, time);
    buf_str(out, ",\"id\":");
    text_uint(out, w->arrows);
    buf_str(out, ",\"name\":\"wakeup\",\"cat\":\"wakeup\"");
    buf_str(out, phase[0] == 'f' ? ",\"bp\":\"e\"" : "");
    end(w);
}

static void on_wake(void *ctx, const struct tl_wake *wake)
{
    struct writer *w = ctx;
    const struct tl_thread *waker = store_row(w->v->store, wake->waker), *woken = store_row(w->v->store, wake->thread);
    if (!woken->wanted)
        return;
    if (wake->interrupt) {
        w->wakers[wake->thread] = BY_IRQ;
    } else if (!waker->wanted || !wake->waker) {
        w->wakers[wake->thread] = wake->waker;
    } else {
        w->wakers[wake->thread] = BY_NOBODY;
        w->arrows++;
        put_arrow(w, "s", waker, wake->from);
        put_arrow(w, "f", woken, wake->time);
    }
}

/* ---- CPUs -------------------------------------------------------------------------------------------------------- */

/* There may be many more than the machine has. */
static void see_cpu(struct writer *w, u32 cpu)
{
    char name[32];
    if (w->seen[cpu])
        return;
    w->seen[cpu] = true;
    snprintf(name, sizeof(name), "CPU %u", cpu);
    put_name(w, "thread_name", VIEW_CPUS, VIEW_CPU(cpu), name);
}

static void on_run(void *ctx, u32 cpu, u32 thread, u64 from, u64 until)
{
    struct writer *w = ctx;
    const struct tl_thread *t = store_row(w->v->store, thread);
    see_cpu(w, cpu);
    struct buf *out = begin(w, "X", VIEW_CPUS, VIEW_CPU(cpu));
    put_slice(w, from, until);
    buf_str(out, ",\"name\":");
    buf_json(out, t->comm);
    buf_str(out, ",\"cat\":\"cpu,running\",\"args\":{\"tid\":");
    text_uint(out, t->tid);
    buf_char(out, '}');
    end(w);
}

static void on_queue(void *ctx, u32 cpu, u64 time, u32 running)
{
    struct writer *w = ctx;
    if (w->queues[cpu] == running)
        return;
    see_cpu(w, cpu);
    w->queues[cpu] = running;
    struct buf *out = begin(w, "C", VIEW_CPUS, VIEW_CPU(cpu));
    put_time(w, time);
    buf_printf(out, ",\"name\":\"run queue of CPU %u\",\"args\":{\"threads\":%u}", cpu, running);
    end(w);
}

static void put_head(struct tl_view *v)
{
    AUTO_BUF struct buf key = {0};
    struct buf *out = &v->buf;
    buf_printf(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"start_seconds\":\"%llu.%09llu\",",
               (unsigned long long)(v->start_ns / 1000000000), (unsigned long long)(v->start_ns % 1000000000));
    buf_printf(out, "\"start_monotonic_ns\":\"%llu\"", (unsigned long long)v->begin);
    for (size_t i = 0; i < v->profile->comments.n; i++) {
        const char *value = profile_comment(v->profile, i, &key);
        out->failed |= key.failed;
        if (!value)
            continue;
        buf_char(out, ',');
        buf_json(out, key.data);
        buf_char(out, ':');
        buf_json(out, value);
    }
    buf_str(out, "},\n\"traceEvents\":[");
}

int trace_write(struct tl_view *v)
{
    u32 cpus = store_machine(v->store)->ncpus;
    struct writer w = {.v = v, .wakers = calloc(store_rows(v->store), sizeof(*w.wakers))};
    w.queues = calloc(cpus, sizeof(*w.queues));
    w.seen = calloc(cpus, sizeof(*w.seen));
    struct tl_visitor visitor = {&w, on_slice, on_wake, on_run, on_queue};
    int rc = w.wakers && w.queues && w.seen ? 0 : -ENOMEM;
    for (u32 c = 0; c < cpus && !rc; c++)
        w.queues[c] = NO_QUEUE;
    if (!rc) {
        put_head(v);
        put_cpus(&w);
        put_threads(&w);
        rc = store_replay(v->store, v->end, &visitor);
        rc = rc ? rc : trace_put_samples(v);
        buf_str(&v->buf, "}\n");
        view_flush(v, true);
    }
    free(w.wakers);
    free(w.queues);
    free(w.seen);
    return rc ? rc : v->rc;
}
