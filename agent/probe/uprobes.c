/* Attaches programs of kinds to places in files of wanted processes (bpf/mapped.bpf.h): by uprobe_multi links (Linux
 * 6.6), which need no more than CAP_BPF and CAP_PERFMON, or by perf events (Linux 5.15), which need CAP_SYS_ADMIN.
 */
#include "base/cleanup.h"
#include "probe/kinds.h"
#include "probe/object.h"
#include "probe/places.h"
#include "probe/probe_internal.h"
#include "bpf/goroutines.h"
#include "xprof.skel.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool changes(u64 call)
{
    return XP_HEAP_OLD(call) != 0;
}
static bool changes_and_ends(u64 call)
{
    return XP_HEAP_OLD(call) && XP_HEAP_SIZE(call);
}
static bool allocates(u64 call)
{
    return !XP_HEAP_OLD(call) && XP_HEAP_SIZE(call);
}
static bool go_ends(u64 call)
{
    return call == XP_GO_ENDS;
}
static bool go_waits(u64 call)
{
    return call == XP_GO_WAITS;
}
static bool is_called(u64 call)
{
    return call == XP_PLACE_CALLED;
}
static bool returns(u64 call)
{
    return call == XP_PLACE_RETURNS;
}
static bool is_timed(u64 call)
{
    return call == XP_PLACE_TIMED;
}
static bool is_usdt(u64 call)
{
    return call == XP_PLACE_USDT;
}

/* Which program is attached to which places, in this order: what ends something first, so that whatever is seen to
 * begin is seen to its end. Of allocators, what frees comes before what only allocates. */
static const struct part {
    const char *program;
    bool (*takes)(u64 call);
    bool returns; /* to the returns from there */
    enum probe_heap_parts part;
} PARTS[PROBE_HEAP_LINKS] = {
    {"xp_on_heap_return", changes_and_ends, true, PROBE_HEAP_FREES},
    {"xp_on_heap_call", changes, false, PROBE_HEAP_FREES},
    {"xp_on_heap_return", allocates, true, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_heap_call", allocates, false, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_go_end", go_ends, false, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_go_wait", go_waits, false, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_function", is_called, false, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_function", returns, true, PROBE_HEAP_ALLOCATIONS},
    {"xp_after_call", is_timed, true, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_call", is_timed, false, PROBE_HEAP_ALLOCATIONS},
    {"xp_on_usdt", is_usdt, false, PROBE_HEAP_ALLOCATIONS},
};

struct bpf_object *uprobes_object(const struct probe *p, size_t event)
{
    return event < XP_MAX_EVENTS ? __atomic_load_n(&p->attached[event], __ATOMIC_ACQUIRE) : NULL;
}

u32 probe_heap_wants(const struct probe *p)
{
    return __atomic_load_n((u32 *)&p->skel->bss->xp_live.wants, __ATOMIC_ACQUIRE);
}

int probe_heap_wanted(struct probe *p, size_t event, probe_processes *out)
{
    struct bpf_object *object = uprobes_object(p, event);
    struct bpf_program *lists = object ? bpf_object__find_program_by_name(object, "xp_list_wanted") : NULL;
    struct bpf_link *link = lists ? bpf_program__attach_iter(lists, NULL) : NULL;
    AUTO_CLOSE int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
    int rc = fd < 0 ? -ENODATA : 0;
    struct xp_wanted some[64];
    for (ssize_t n = 1; !rc && n > 0;) {
        n = read(fd, some, sizeof(some)); /* whole entries (fs/seq_file.c) */
        rc = n < 0 ? -errno : 0;
        for (ssize_t i = 0; i < n / (ssize_t)sizeof(*some) && !rc; i++) {
            struct xp_wanted *place = VEC_PUSH(out);
            rc = place ? 0 : -ENOMEM;
            if (place)
                *place = some[i];
        }
    }
    bpf_link__destroy(link);
    return rc;
}

struct chosen {
    u64 *offsets, *cookies, *counters;
    size_t n;
};

/* Sites have numbers where it matters which one it is. */
static u64 cookie_of(const struct probe_heap_file *f, size_t i)
{
    u64 call = f->sites[i].call;
    return is_timed(call) || is_usdt(call) ? XP_PLACE_COOKIE(call, f->place, f->first + i)
                                           : XP_HEAP_COOKIE(call, f->place);
}

static void choose(const struct part *part, const struct probe_heap_file *f, struct chosen *out)
{
    out->n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (!part->takes(f->sites[i].call))
            continue;
        out->offsets[out->n] = f->sites[i].offset;
        out->counters[out->n] = f->counters ? f->counters[i] : 0;
        out->cookies[out->n++] = cookie_of(f, i);
    }
}

/* All of them, or none: what is seen of an allocator is wrong without what it does elsewhere. */
static int attach_part(const struct probe *p, const struct bpf_program *program, bool returns,
                       const struct probe_heap_file *f, const struct chosen *chosen, probe_fds *out)
{
    struct probe_places places = {
        .fd = f->fd, .offsets = chosen->offsets, .counters = f->counters ? chosen->counters : NULL, .n = chosen->n};
    struct places_request request = {program, p->attached_by, &places, returns, chosen->cookies, f->tgid};
    struct places_held held = {0};
    int rc = places_request(&request, &held);
    if (!rc && held.refused) {
        places_detach(&held);
        rc = -ENOTSUP;
    }
    *out = held.fds;
    return rc;
}

int probe_heap_attach(struct probe *p, size_t event, const struct probe_heap_file *f, unsigned parts,
                      struct probe_heap_links *l)
{
    struct bpf_object *object = uprobes_object(p, event);
    AUTO_FREE u64 *room = calloc(3 * f->n + 1, sizeof(*room));
    struct chosen chosen = {.offsets = room, .cookies = room + f->n, .counters = room + 2 * f->n};
    if (!object || !room)
        return object ? -ENOMEM : -ENODATA;
    guard_start(p); /* without it, all works as long as nobody kills this process */
    for (size_t i = 0; i < PROBE_HEAP_LINKS; i++) {
        const struct part *part = &PARTS[i];
        const struct bpf_program *program =
            !l->fds[i].n && part->part & parts ? bpf_object__find_program_by_name(object, part->program) : NULL;
        if (!program)
            continue;
        choose(part, f, &chosen);
        int rc = chosen.n ? attach_part(p, program, part->returns, f, &chosen, &l->fds[i]) : 0;
        if (rc) {
            probe_heap_detach(l, parts);
            return rc;
        }
    }
    return 0;
}

void probe_heap_detach(struct probe_heap_links *l, unsigned parts)
{
    for (size_t i = PROBE_HEAP_LINKS; i-- > 0;) {
        if (!(PARTS[i].part & parts))
            continue;
        places_detach(&(struct places_held){.fds = l->fds[i]});
        l->fds[i] = (probe_fds){0};
    }
}

void probe_heap_end(struct probe *p, size_t event)
{
    struct bpf_object *object = uprobes_object(p, event);
    if (object)
        heap_end(object);
}
