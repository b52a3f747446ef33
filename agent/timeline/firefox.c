/* The timeline for the Firefox Profiler (profile/gecko_file.h). What a thread does are markers on its track; CPUs are
 * the threads of one more process, with markers of who they run and of how many wait for them.
 *
 * Files are written track by track, but events come by time: so the events are played for as many tracks at once as fit
 * into memory.
 */
#include "profile/gecko_file.h"
#include "profile/gecko_tables.h"
#include "profile/text.h"
#include "timeline/writer.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MARKERS  ((size_t)2 << 20) /* kept at once: 64 MB */
#define INTERVAL 1000000u          /* ns; how narrow the graph may get */

struct marker {
    u64 begin, end;
    u32 name; /* string of the profile */
    u32 next; /* of the same track: its place + 1; 0: none */
    u8 category;
};
struct track {
    size_t most; /* markers that it will have, at most */
    size_t n;    /* that it has, while it is collected */
    u32 first, last;
};
struct woken { /* a thread, the last time */
    u64 time;
    u32 waker; /* row; 0: an interrupt */
};
struct queue { /* of a CPU */
    u64 since;
    u32 running;
    bool known;
};
struct writer {
    struct tl_view *v;
    struct track *tracks; /* of CPUs, then of the store's threads */
    u32 ncpus, ntracks;
    u32 from, until; /* those that are collected now */
    struct queue *queues;
    struct woken *woken; /* by row */
    VEC(struct marker) markers;
    size_t written;
    int rc;
};

/* ---- Markers ----------------------------------------------------------------------------------------------------- */

static bool takes(const struct writer *w, u32 track)
{
    return track >= w->from && track < w->until;
}

static void add(struct writer *w, u32 track, u64 begin, u64 end, const char *name, u8 category)
{
    struct track *t = &w->tracks[track];
    struct marker *m = VEC_PUSH(&w->markers);
    if (!m) {
        w->rc = -ENOMEM;
        return;
    }
    *m = (struct marker){begin, end, profile_string(w->v->profile, name), 0, category};
    u32 place = (u32)w->markers.n;
    *(t->n++ ? &w->markers.v[t->last - 1].next : &t->first) = place;
    t->last = place;
}

/* Who woke it up is said here, and not by a marker of its own: browsers read files of 537 MB at most. */
static void name_runnable(const struct writer *w, const struct tl_slice *s, char *out, size_t size)
{
    const struct woken *woken = &w->woken[s->thread];
    char who[VIEW_WHO] = "an interrupt";
    if (woken->waker)
        view_who(store_row(w->v->store, woken->waker), who);
    if (woken->time == s->begin)
        snprintf(out, size, "runnable, woken up by %s", who);
    else
        snprintf(out, size, "runnable");
}

static void on_slice(void *ctx, const struct tl_slice *s)
{
    struct writer *w = ctx;
    u32 track = w->ncpus + s->thread;
    char name[96] = "running";
    if (!store_row(w->v->store, s->thread)->wanted || !takes(w, track))
        return;
    if (s->doing == TL_RUNNABLE)
        name_runnable(w, s, name, sizeof(name));
    else if (s->doing == TL_BLOCKED)
        snprintf(name, sizeof(name), "blocked %s", causes_text(w->v->causes, w->v->store, s));
    add(w, track, s->begin, s->end, name, s->doing == TL_RUNNING ? GECKO_USER : GECKO_WAIT);
}

static void on_wake(void *ctx, const struct tl_wake *wake)
{
    struct writer *w = ctx;
    w->woken[wake->thread] = (struct woken){wake->time, wake->interrupt ? 0 : wake->waker};
}

static void on_run(void *ctx, u32 cpu, u32 thread, u64 begin, u64 end)
{
    struct writer *w = ctx;
    char name[VIEW_WHO];
    if (!takes(w, cpu))
        return;
    view_who(store_row(w->v->store, thread), name);
    add(w, cpu, begin, end, name, GECKO_USER);
}

static void end_queue(struct writer *w, u32 cpu, u64 time)
{
    const struct queue *q = &w->queues[cpu];
    char name[32];
    snprintf(name, sizeof(name), "run queue: %u", q->running);
    if (q->known && time > q->since)
        add(w, cpu, q->since, time, name, GECKO_OTHER);
}

static void on_queue(void *ctx, u32 cpu, u64 time, u32 running)
{
    struct writer *w = ctx;
    struct queue *q = &w->queues[cpu];
    if (!takes(w, cpu) || (q->known && q->running == running))
        return;
    end_queue(w, cpu, time);
    *q = (struct queue){time, running, true};
}

/* ---- How many there will be -------------------------------------------------------------------------------------- */

static void count_slice(void *ctx, const struct tl_slice *s)
{
    struct writer *w = ctx;
    w->tracks[w->ncpus + s->thread].most += store_row(w->v->store, s->thread)->wanted;
}

static void count_run(void *ctx, u32 cpu, u32 thread, u64 begin, u64 end)
{
    struct writer *w = ctx;
    (void)thread;
    w->tracks[cpu].most += end > begin;
}

static void count_queue(void *ctx, u32 cpu, u64 time, u32 running)
{
    struct writer *w = ctx;
    (void)time;
    w->tracks[cpu].most += running || w->tracks[cpu].most;
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

/* Writes a value of a marker. */
typedef void put_value(struct writer *w, const struct marker *m, struct gecko_tables *tables);

static void put_name(struct writer *w, const struct marker *m, struct gecko_tables *tables)
{
    s64 row = gecko_add_string(tables, m->name);
    text_uint(&w->v->buf, row < 0 ? 0 : (u64)row);
    w->rc = row < 0 ? -ENOMEM : w->rc;
}

static void put_begin(struct writer *w, const struct marker *m, struct gecko_tables *tables)
{
    (void)tables;
    put_ms(&w->v->buf, m->begin - w->v->begin);
}

static void put_end(struct writer *w, const struct marker *m, struct gecko_tables *tables)
{
    (void)tables;
    put_ms(&w->v->buf, m->end - w->v->begin);
}

static void put_phase(struct writer *w, const struct marker *m, struct gecko_tables *tables)
{
    (void)m, (void)tables;
    buf_char(&w->v->buf, '1'); /* an interval */
}

static void put_category(struct writer *w, const struct marker *m, struct gecko_tables *tables)
{
    (void)tables;
    text_uint(&w->v->buf, m->category);
}

static void put_null(struct writer *w, const struct marker *m, struct gecko_tables *tables)
{
    (void)m, (void)tables;
    buf_str(&w->v->buf, "null");
}

static void put_markers(struct writer *w, const struct track *t, struct gecko_tables *tables)
{
    static const struct {
        const char *name;
        put_value *put;
    } columns[] = {{"name", put_name},   {"startTime", put_begin},   {"endTime", put_end},
                   {"phase", put_phase}, {"category", put_category}, {"data", put_null}};
    struct buf *out = &w->v->buf;
    buf_printf(out, "\"markers\":{\"length\":%zu", t->n);
    for (size_t c = 0; c < sizeof(columns) / sizeof(*columns); c++) {
        buf_printf(out, ",\"%s\":[", columns[c].name);
        for (u32 i = t->first; i; i = w->markers.v[i - 1].next) {
            buf_str(out, i == t->first ? "" : ",");
            columns[c].put(w, &w->markers.v[i - 1], tables);
            view_flush(w->v, false);
        }
        buf_char(out, ']');
    }
    buf_str(out, "},");
}

/* Appends the columns of n samples of a thread, each with its time and weight. */
static int put_columns(struct writer *w, size_t first, size_t n, struct gecko_tables *tables)
{
    struct tl_samples *s = &w->v->samples;
    struct buf *out = &w->v->buf;
    buf_str(out, ",\"stack\":[");
    for (size_t i = first; i < first + n; i++) {
        int rc = frames_of(w->v->profile, samples_at(s, i), &s->frames);
        size_t process = s->frames.n > 1; /* it is the track's */
        s64 row = rc ? -1 : gecko_add_stack(tables, s->frames.v + process, s->frames.n - process);
        if (row < 0)
            return -ENOMEM;
        buf_str(out, i > first ? "," : "");
        text_uint(out, (u64)row);
    }
    buf_str(out, "],\"time\":[");
    for (size_t i = first; i < first + n; i++) {
        buf_str(out, i > first ? "," : "");
        put_ms(out, samples_at(s, i)->time - w->v->begin);
    }
    buf_str(out, "],\"weight\":[");
    for (size_t i = 0; i < n; i++)
        buf_str(out, i ? ",1" : "1");
    buf_char(out, ']');
    return 0;
}

/* Appends "samples": the stacks of a thread, each at its time. */
static int put_samples(struct writer *w, u32 track, struct gecko_tables *tables)
{
    const struct tl_thread *t = track < w->ncpus ? NULL : store_row(w->v->store, track - w->ncpus);
    size_t n = 0, first = t ? samples_of(&w->v->samples, t->tgid, t->tid, &n) : 0;
    buf_printf(&w->v->buf, "\"samples\":{\"length\":%zu,\"weightType\":\"samples\"", n);
    int rc = put_columns(w, first, n, tables);
    buf_str(&w->v->buf, "},");
    return rc;
}

static struct gecko_thread head_of(const struct writer *w, u32 track, char name[48])
{
    if (track < w->ncpus) {
        snprintf(name, 48, "CPU %u", track);
        return (struct gecko_thread){name, "CPUs", VIEW_CPUS, VIEW_CPU(track), !track};
    }
    const struct tl_thread *t = store_row(w->v->store, track - w->ncpus);
    return (struct gecko_thread){t->comm, view_process(t), t->tgid, t->tid, t->tid == t->tgid};
}

static int put_track(struct writer *w, u32 track)
{
    struct track *t = &w->tracks[track];
    struct gecko_tables tables = {.p = w->v->profile};
    char name[48];
    if (!t->n)
        return 0;
    struct gecko_thread head = head_of(w, track, name);
    buf_str(&w->v->buf, w->written++ ? "," : "");
    gecko_begin_thread(&head, &w->v->buf);
    put_markers(w, t, &tables);
    int rc = put_samples(w, track, &tables);
    gecko_put_tables(&tables, &w->v->buf);
    buf_char(&w->v->buf, '}');
    gecko_tables_free(&tables);
    return rc ? rc : w->rc;
}

static int collect(struct writer *w)
{
    const struct tl_visitor visitor = {w, on_slice, on_wake, on_run, on_queue};
    w->markers.n = 0;
    int rc = store_replay(w->v->store, w->v->end, &visitor);
    for (u32 c = w->from; c < w->until && c < w->ncpus; c++)
        end_queue(w, c, w->v->end);
    return rc ? rc : w->rc;
}

static int put_tracks(struct writer *w)
{
    int rc = 0;
    for (w->from = 0; w->from < w->ntracks && !rc; w->from = w->until) {
        size_t n = 0;
        for (w->until = w->from; w->until < w->ntracks && (!n || n + w->tracks[w->until].most <= MARKERS); w->until++)
            n += w->tracks[w->until].most;
        rc = n ? collect(w) : 0;
        for (u32 t = w->from; t < w->until && !rc && n; t++)
            rc = put_track(w, t);
    }
    return rc;
}

static int count(struct writer *w)
{
    const struct tl_visitor visitor = {w, count_slice, NULL, count_run, count_queue};
    w->ncpus = store_machine(w->v->store)->ncpus;
    w->ntracks = w->ncpus + store_rows(w->v->store);
    w->tracks = calloc(w->ntracks, sizeof(*w->tracks));
    w->queues = calloc(w->ncpus, sizeof(*w->queues));
    w->woken = calloc(store_rows(w->v->store), sizeof(*w->woken));
    return w->tracks && w->queues && w->woken ? store_replay(w->v->store, w->v->end, &visitor) : -ENOMEM;
}

int firefox_write(struct tl_view *v)
{
    struct writer w = {.v = v};
    int rc = count(&w);
    if (!rc) {
        v->profile->time_ns = v->start_ns;
        gecko_begin(v->profile, INTERVAL, &v->buf);
        rc = put_tracks(&w);
        gecko_end(&v->buf);
        view_flush(v, true);
    }
    free(w.tracks);
    free(w.queues);
    free(w.woken);
    vec_free(&w.markers);
    return rc ? rc : v->rc;
}
