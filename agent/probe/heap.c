/* What is special about kind `memory` (bpf/kinds/memory.bpf.c): which blocks are sampled, and which processes are held
 * until its programs are attached.
 */
#include "base/cleanup.h"
#include "base/vec.h"
#include "probe/kinds.h"
#include "probe/probe_internal.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define CHANCES       4294967296.0
#define CERTAIN_AFTER 16 /* periods: blocks as large are sampled whatever happens (1 - exp(-16)) */

/* Blocks are sampled as if each byte was, once in `period` bytes: by 1 - exp(-size / period). */
static u32 odds_of(u32 step, u64 period)
{
    double low = ldexp(1 + (double)(step % XP_HEAP_STEPS) / XP_HEAP_STEPS, (int)(step / XP_HEAP_STEPS));
    double x = low * (1 + 0.5 / XP_HEAP_STEPS) / (double)period;
    double odds = -expm1(-x) * CHANCES;
    if (period == 1 || x > CERTAIN_AFTER)
        return XP_HEAP_ALWAYS;
    return odds < 1 ? 1 : odds >= XP_HEAP_ALWAYS ? XP_HEAP_ALWAYS - 1 : (u32)odds;
}

void heap_odds(u32 odds[XP_HEAP_ODDS], u64 period)
{
    for (u32 i = 0; i < XP_HEAP_ODDS; i++)
        odds[i] = odds_of(i, period ? period : PROBE_HEAP_PERIOD);
}

/* The first event with allocators stops processes for all of them. */
static enum xp_held held_by(const struct probe *p, size_t event)
{
    for (size_t e = 0; e < event; e++)
        if (p->config.events[e].allocators)
            return XP_HELD_BY_OTHER;
    return XP_HELD;
}

int heap_configure(struct bpf_object *object, const struct probe *p, size_t event)
{
    struct xp_heap_settings settings = {.exec = p->config.cgroup_files ? XP_GONE_FREED : XP_GONE_SILENTLY};
    u32 zero = 0, how = held_by(p, event);
    heap_odds(settings.odds, p->config.heap_period);
    int map = bpf_object__find_map_fd_by_name(object, "heap_settings");
    if (map < 0) /* another kind's */
        return 0;
    int held = bpf_object__find_map_fd_by_name(object, "heap_held");
    if (bpf_map_update_elem(map, &zero, &settings, BPF_ANY))
        return -errno;
    for (size_t i = 0; i < p->config.npids && p->config.heap_hold; i++)
        if (bpf_map_update_elem(held, &p->config.pids[i], &how, BPF_ANY))
            return -errno;
    return 0;
}

void heap_end(struct bpf_object *object)
{
    struct xp_heap_settings settings = {.off = 1};
    u32 zero = 0;
    int map = bpf_object__find_map_fd_by_name(object, "heap_settings");
    if (map >= 0)
        bpf_map_update_elem(map, &zero, &settings, BPF_ANY);
}

/* ---- What processes do ------------------------------------------------------------------------------------------- */

static int processes_map(const struct probe *p, size_t event)
{
    struct bpf_object *object = uprobes_object(p, event);
    return object ? bpf_object__find_map_fd_by_name(object, "heap_processes") : -ENODATA;
}

void probe_heap_begin(struct probe *p, size_t event, u32 place)
{
    struct xp_heap_process fresh = {0};
    bpf_map_update_elem(processes_map(p, event), &place, &fresh, BPF_ANY);
}

int probe_heap_hits(struct probe *p, size_t event, u32 place, struct probe_heap_hits *out)
{
    struct xp_heap_process now;
    if (bpf_map_lookup_elem(processes_map(p, event), &place, &now))
        return -ENODATA;
    *out = (struct probe_heap_hits){now.calls, now.returns, now.stacks};
    return 0;
}

/* Hits that happen meanwhile are lost, and count as none: a few of them, once per rest. */
void probe_heap_rest(struct probe *p, size_t event, u32 place, bool resting)
{
    struct xp_heap_process now;
    int map = processes_map(p, event);
    if (bpf_map_lookup_elem(map, &place, &now))
        return;
    now.resting = resting;
    if (!resting)
        now.round = __atomic_add_fetch(&p->heap_rounds, 1, __ATOMIC_RELAXED);
    bpf_map_update_elem(map, &place, &now, BPF_ANY);
}

/* An iterator over a map, which writes nothing. */
static int run_iterator(struct bpf_object *object, const char *name, int map)
{
    union bpf_iter_link_info over = {.map.map_fd = (u32)map};
    DECLARE_LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &over, .link_info_len = sizeof(over));
    struct bpf_program *program = bpf_object__find_program_by_name(object, name);
    struct bpf_link *link = program ? bpf_program__attach_iter(program, &options) : NULL;
    AUTO_CLOSE int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
    char nothing[256];
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 || (n < 0 && fd >= 0 && errno == EAGAIN)) /* a long one pauses (kernel/bpf/bpf_iter.c) */
        n = read(fd, nothing, sizeof(nothing));
    bpf_link__destroy(link);
    return n < 0 ? -ENODATA : 0;
}

#define FORGETTING 4 /* an iterator may overlook what moves while it reads */

/* Forgets the blocks of address spaces that are gone. Returns what those stand for that may have been freed unseen. */
static u64 forget(struct bpf_object *object)
{
    static const struct {
        const char *program, *map;
    } all[] = {
        {"xp_forget_blocks", "heap_blocks"}, {"xp_forget_blocks", "bad_blocks"}, {"xp_forget_cells", "bad_cells"}};
    int asked = bpf_object__find_map_fd_by_name(object, "heap_oblivion");
    u64 objects = 0;
    u32 zero = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        int map = bpf_object__find_map_fd_by_name(object, all[i].map);
        for (unsigned n = 0; map >= 0 && n < FORGETTING; n++) {
            struct xp_heap_oblivion o = {0};
            if (bpf_map_update_elem(asked, &zero, &o, BPF_ANY) || run_iterator(object, all[i].program, map) ||
                bpf_map_lookup_elem(asked, &zero, &o) || !o.blocks)
                break;
            objects += o.objects;
        }
    }
    return objects;
}

int probe_heap_gone(struct probe *p, size_t event, u32 place, enum xp_heap_gone how, u64 since)
{
    struct bpf_object *object = uprobes_object(p, event);
    struct xp_heap_process now;
    u32 as = how;
    if (!object || bpf_map_lookup_elem(processes_map(p, event), &place, &now) || !now.space ||
        (since && now.space >= since))
        return -ENODATA;
    int rc = bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "heap_gone"), &now.space, &as, BPF_ANY);
    return rc ? -errno : 0;
}

u64 probe_heap_forget(struct probe *p, size_t event)
{
    struct bpf_object *object = uprobes_object(p, event);
    int gone = object ? bpf_object__find_map_fd_by_name(object, "heap_gone") : -1;
    VEC(u64) spaces = {0};
    u64 key, objects = 0;
    /* Those that come while it reads are for the next time. */
    for (int rc = gone < 0 ? -1 : bpf_map_get_next_key(gone, NULL, &key); !rc && spaces.n < XP_HEAP_GONE;
         rc = bpf_map_get_next_key(gone, &key, &key)) {
        u64 *place = VEC_PUSH(&spaces);
        if (place)
            *place = key;
    }
    if (spaces.n)
        objects = forget(object);
    for (size_t i = 0; i < spaces.n; i++)
        bpf_map_delete_elem(gone, &spaces.v[i]);
    vec_free(&spaces);
    return objects;
}

struct looking {
    probe_heap_held *held;
    void *ctx;
};

static bool pass_on(void *ctx, const void *key, const void *value)
{
    const struct looking *l = ctx;
    struct xp_amount held;
    u64 stack;
    memcpy(&stack, key, sizeof(stack));
    memcpy(&held, value, sizeof(held));
    l->held(l->ctx, stack, held);
    return true;
}

int probe_heap_look(struct probe *p, size_t event, u64 by_ns, probe_heap_held *held, void *ctx)
{
    struct bpf_object *object = uprobes_object(p, event);
    struct xp_heap_look look = {.by = by_ns};
    struct looking looking = {held, ctx};
    u32 zero = 0;
    if (!object || bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "heap_look"), &zero, &look, BPF_ANY))
        return -ENODATA;
    int rc = run_iterator(object, "xp_look_at_blocks", bpf_object__find_map_fd_by_name(object, "heap_blocks"));
    int emptied = probe_empty(bpf_object__find_map_by_name(object, "heap_old"), pass_on, &looking);
    bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object, "heap_look"), &zero, &look);
    return rc ? rc : emptied ? emptied : look.left_out ? -ENOSPC : 0;
}
