/* Attaches the programs of a kind, and detaches them: all, or those that rest. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "probe/kinds.h"
#include "probe/object.h"
#include "probe/probe_internal.h"
#include "bpf/cost.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Takes over a link. Returns 0 or -errno: there is none. */
static int keep_link(struct kind_links *l, struct bpf_link *link, bool stays)
{
    int rc = link ? -ENOMEM : -errno;
    struct bpf_link **place = !link ? NULL : stays ? VEC_PUSH(&l->staying) : VEC_PUSH(&l->resting);
    if (place)
        *place = link;
    else
        bpf_link__destroy(link);
    return place ? 0 : rc;
}

static int attach_on_cpus(struct kind_links *l, const struct probe *p, const struct bpf_program *program)
{
    u8 online[PROBE_MAX_CPUS / 8] = {0};
    int rc = probe_online(p, online);
    for (int cpu = 0; cpu < p->ncpus && !rc; cpu++)
        if (online[cpu / 8] >> cpu % 8 & 1)
            rc = keep_link(l, kind_attach_perf(program, cpu), false);
    return rc;
}

/* Programs of other events are attached by and by (uprobes.c). */
static int attach_to_places(struct kind_links *l, const struct probe_event *event, const struct bpf_program *program)
{
    if (event->symbol)
        return keep_link(l, kind_attach_kprobe(program, event->symbol), false);
    const struct probe_places *places = event->places;
    if (!places || places->file)
        return 0;
    bool returns = places->when == PROBE_RETURNS || (places->when == PROBE_BOTH && kind_is_after(program));
    return places_attach(program, l->means, places, returns, &l->places);
}

static int attach_program(struct kind_links *l, const struct probe *p, const struct probe_event *event,
                          const struct bpf_program *program, bool stays)
{
    switch (bpf_program__type(program)) {
    case BPF_PROG_TYPE_PERF_EVENT:
        return attach_on_cpus(l, p, program);
    case BPF_PROG_TYPE_TRACEPOINT:
        return keep_link(l, kind_attach_tracepoint(program, kind_is_after(program) ? event->end : event->tracepoint),
                         false);
    case BPF_PROG_TYPE_KPROBE:
        return attach_to_places(l, event, program);
    default:
        return keep_link(l, bpf_program__attach(program), stays);
    }
}

/* What began while it was attached before may have ended unseen. Threads forget it by themselves. */
static int forget_timed(const struct bpf_object *object)
{
    const struct bpf_map *m = bpf_object__find_map_by_name(object, "timed_calls");
    return m && bpf_map__type(m) == BPF_MAP_TYPE_HASH ? probe_empty(m, NULL, NULL) : 0;
}

/* Tells programs that they are attached once more, if they want to know that. */
static int count_turn(const struct bpf_object *object)
{
    const struct bpf_map *m = bpf_object__find_map_by_name(object, "attached_turns");
    struct xp_turns turns;
    u32 zero = 0;
    if (!m)
        return 0;
    if (bpf_map_lookup_elem(bpf_map__fd(m), &zero, &turns))
        return -errno;
    if (!turns.number++)
        turns.began_ns = now_ns();
    return bpf_map_update_elem(bpf_map__fd(m), &zero, &turns, BPF_ANY) ? -errno : 0;
}

/* By its name. */
static bool stays_attached(const struct bpf_program *program)
{
    return !strncmp(bpf_program__name(program), "xp_keep_", strlen("xp_keep_"));
}

int kind_attach(struct kind_links *l, const struct probe *p, size_t event, const struct bpf_object *object)
{
    struct bpf_program *program;
    bool rested = l->staying.n != 0;
    int rc = forget_timed(object);
    if (!rc)
        rc = count_turn(object);
    bpf_object__for_each_program(program, object)
    {
        bool stays = stays_attached(program);
        if (rc || bpf_program__fd(program) < 0 || bpf_program__expected_attach_type(program) == BPF_TRACE_ITER)
            continue;
        if (!stays || !rested)
            rc = attach_program(l, p, &p->config.events[event], program, stays);
    }
    return rc;
}

void kind_rest(struct kind_links *l)
{
    for (size_t i = 0; i < l->resting.n; i++)
        bpf_link__destroy(l->resting.v[i]);
    vec_free(&l->resting);
    places_detach(&l->places);
}

void kind_detach(struct kind_links *l)
{
    kind_rest(l);
    for (size_t i = 0; i < l->staying.n; i++)
        bpf_link__destroy(l->staying.v[i]);
    vec_free(&l->staying);
}

bool kind_is_attached(const struct kind_links *l)
{
    return l->resting.n != 0 || l->places.fds.n != 0;
}

static void link_free(struct bpf_link **link)
{
    bpf_link__destroy(*link);
    *link = NULL;
}

int kind_catch_up(const struct bpf_object *object)
{
    char none[64];
    ssize_t n;
    const struct bpf_program *program = bpf_object__find_program_by_name(object, "xp_catch_up");
    if (!program)
        return 0;
    CLEANUP(link_free) struct bpf_link *link = bpf_program__attach_iter(program, NULL);
    AUTO_CLOSE int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
    if (fd < 0)
        return -errno;
    do
        n = read(fd, none, sizeof(none));
    while (n > 0 || (n < 0 && errno == EAGAIN));
    return n < 0 ? -errno : 0;
}
