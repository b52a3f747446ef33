/* One profile: its labels, its bytes, small enough for a server. */
#include "publish/publish_internal.h"
#include "base/cleanup.h"
#include "profile/formats.h"
#include "profile/subset.h"
#include <errno.h>
#include <string.h>

#define MAX_BYTES  (1400u << 10) /* of a pprof: Pyroscope's burst limit is 2 MiB, labels included */
#define MAX_STACKS 15000         /* of its 16,000 samples a profile */
#define MAX_WORK   (32u << 20)   /* bytes of a group that are encoded, in whichever part: names may be long in each */

struct sending {
    struct publisher *p;
    const struct profile *whole;
    const struct label_set *labels;
    bool process_frames;
    size_t left; /* bytes that may still be encoded */
};

static u64 samples_of(const struct profile *p, size_t lo, size_t hi)
{
    u64 n = 0;
    for (size_t i = lo; i < hi; i++)
        n += stack_count(&p->stacks.v[i]);
    return n;
}

static void label(struct publisher *p, struct label_set *to, const char *name, const char *value)
{
    if (labels_add(to, name, value))
        publish_count(&p->stats.labels_left_out, 1);
}

static void label_all(struct publisher *p, struct label_set *to, const struct label_set *from)
{
    for (size_t i = 0; from && i < from->n; i++)
        label(p, to, from->v[i].name, from->v[i].value);
}

static const char *one_of(const struct group *g, const char *name)
{
    const char *value = g->rule ? labels_get(&g->rule->labels, name) : NULL;
    return value || !g->identity ? value : labels_get(&g->identity->labels, name);
}

/* The labels of a group: a rule's, its identity's, everybody's; an earlier one is not replaced. `program`: its name
 * when that is the service. Servers take no profile without __name__: it has a place before there are too many. */
static void labels_of(struct publisher *p, const struct group *g, const struct event_kind *event, const char *program,
                      struct label_set *out)
{
    const char *series = one_of(g, "__name__");
    label(p, out, "__name__", series ? series : event->series);
    label_all(p, out, g->rule ? &g->rule->labels : NULL);
    label_all(p, out, g->identity ? &g->identity->labels : NULL);
    label_all(p, out, &p->every);
    if (program && !labels_get(out, "service_name")) { /* who named the service decides what else there is */
        label(p, out, "comm", program);
        label(p, out, "service_name", program);
    }
    label(p, out, "service_name", "unknown");
}

static int put(struct publisher *p, const struct profile *part, const struct label_set *labels, const struct buf *pprof)
{
    struct export_label pairs[LABELS_MAX];
    for (size_t i = 0; i < labels->n; i++)
        pairs[i] = (struct export_label){labels->v[i].name, labels->v[i].value};
    const struct event_kind *kind = part->events[0];
    struct export_item item = {
        .labels = pairs,
        .nlabels = labels->n,
        .type = event_width(kind) > 1 ? kind->name : kind->values[0].type,
        .time_ns = part->time_ns,
        .duration_ns = part->duration_ns,
        .pprof = pprof->data,
        .len = pprof->len,
    };
    return exports_put(p->config.exports, &item);
}

static int encode(struct sending *s, const struct subset *rows, struct profile *part, struct buf *pprof)
{
    int rc = profile_subset(s->whole, rows, part);
    if (!rc)
        rc = encode_pprof_plain(part, false, pprof);
    s->left -= pprof->len < s->left ? pprof->len : s->left;
    return rc;
}

/* Encodes stacks lo..hi of `whole`; in halves, when that is more than a server takes at once. A single stack may be
 * that, too: thousands of frames with names as long as a process wants. */
static void send_stacks(struct sending *s, size_t lo, size_t hi)
{
    struct profile part = {0};
    struct publisher *p = s->p;
    AUTO_BUF struct buf pprof = {0};
    AUTO_FREE u32 *rows = calloc(hi - lo + 1, sizeof(*rows));
    for (size_t i = lo; rows && i < hi; i++)
        rows[i - lo] = (u32)i;
    struct subset subset = {.stacks = rows, .n = hi - lo, .process_frames = s->process_frames};
    bool fits = hi - lo <= MAX_STACKS;
    int rc = !s->left ? -ENOSPC : !rows || profile_init(&part) ? -ENOMEM : 0;
    if (!rc && fits)
        rc = encode(s, &subset, &part, &pprof);
    if (!rc && (!fits || pprof.len > MAX_BYTES) && hi - lo > 1) {
        publish_count(&p->stats.splits, 1);
        profile_free(&part);
        send_stacks(s, lo, lo + (hi - lo) / 2);
        send_stacks(s, lo + (hi - lo) / 2, hi);
        return;
    }
    bool any = part.stacks.n; /* perhaps without samples: waits that go on were counted when they began */
    if (!rc && any)
        rc = pprof.len > MAX_BYTES ? -E2BIG : put(p, &part, s->labels, &pprof);
    publish_count(rc ? &p->stats.refused : &p->stats.samples, samples_of(s->whole, lo, hi));
    publish_count(&p->stats.profiles, !rc && any);
    profile_free(&part);
}

static bool wants_process_frames(const struct publisher *p, const struct group *g)
{
    return p->config.process_frames == PROCESS_FRAMES_ALWAYS ||
           (p->config.process_frames == PROCESS_FRAMES_AUTO && g->several);
}

/* runc calls itself runc:[2:INIT] before it becomes the program; that is no program of the container's. */
static bool is_start_up(const char *name)
{
    return !*name || !strncmp(name, "runc:", 5);
}

/* Is more than a twentieth of the samples of other programs than the busiest one? `program` becomes that one. */
void publish_programs(const struct profile *all, struct group *g)
{
    struct map counts = {0};
    u64 total = 0, most = 0;
    for (size_t i = 0; i < g->stacks.n; i++) {
        const struct prof_stack *s = &all->stacks.v[g->stacks.v[i]];
        u32 name = all->processes.v[s->process].name;
        u64 *c = is_start_up(profile_text(all, name)) ? NULL : map_put(&counts, name);
        if (c) {
            *c += stack_count(s);
            total += stack_count(s);
        }
        if (c && *c > most) {
            most = *c;
            g->program = s->process;
        }
    }
    g->several = total - most > total / 20;
    map_free(&counts);
}

void publish_group(struct publisher *p, const struct profile *all, const struct group *g, size_t event)
{
    struct profile part;
    struct subset s = {.stacks = g->stacks.v, .n = g->stacks.n, .event = event};
    struct label_set labels = {0};
    const char *program = NULL;
    if (profile_init(&part))
        return;
    if (g->identity ? g->identity->by_program : !g->several)
        program = profile_text(all, all->processes.v[g->program].name);
    if (!profile_subset(all, &s, &part) && part.stacks.n) {
        labels_of(p, g, all->events[event], program, &labels);
        struct sending sending = {p, &part, &labels, wants_process_frames(p, g), MAX_WORK};
        send_stacks(&sending, 0, part.stacks.n);
    }
    labels_free(&labels);
    profile_free(&part);
}
