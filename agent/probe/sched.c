#include "probe/probe_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "probe/denied.h"
#include "probe/object.h"
#include "probe/object_options.h"
#include "sched.skel.h"
#include "sleepers.skel.h"
#include "xprof.skel.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define TEXT_BYTES (64u << 10) /* of the iterator's: the kernel writes half of it at most */

struct sched {
    struct sched_bpf *skel;
    struct sleepers_bpf *sleepers;
    struct bpf_link *on_switch, *on_exec, *on_fork, *tell;
    struct late *late;             /* NULL: stacks are taken as threads leave */
    struct wakers *wakers;         /* NULL: nobody wants to know who wakes up */
    struct contention *contention; /* NULL: nobody wants locks of the kernel */
    struct xp_config config;
    struct xp_hints *hints; /* mapped */
    struct xp_live *live;   /* shared with all objects */
};

static void configure(const struct sched *s, const struct probe *p, enum probe_wait_stacks means, struct xp_config *out)
{
    struct xp_config c = *(const struct xp_config *)&p->skel->rodata->xp_config;
    c.offcpu = waits_bit(p, PROBE_OFFCPU);
    c.runqueue = waits_bit(p, PROBE_RUNQUEUE);
    c.lock = waits_bit(p, PROBE_LOCK);
    c.wakeup = waits_bit(p, PROBE_WAKEUP);
    c.prev_state = object_arguments("sched_switch") >= 4; /* Linux 5.18 */
    c.kernel_threads = p->config.kernel_threads;
    c.wait_min = p->config.wait_min_ns;
    c.since = now_ns();
    c.wait_shares = p->config.cgroup_files != 0; /* as they have shares of files */
    if (getrandom(&c.seed, sizeof(c.seed), GRND_NONBLOCK) != sizeof(c.seed))
        c.seed = (uintptr_t)s;
    late_configure(p, means, &c);
    *out = c;
}

static void unload(struct sched *s)
{
    late_free(&s->late);
    sleepers_bpf__destroy(s->sleepers);
    sched_bpf__destroy(s->skel);
    s->sleepers = NULL;
    s->skel = NULL;
}

/* Whose maps further objects use. */
struct others {
    struct bpf_object *v[3]; /* NULL-terminated */
};

static struct others others_of(const struct sched *s, const struct probe *p)
{
    return (struct others){{p->skel->obj, s->skel->obj, NULL}};
}

/* Iterators of two objects may run at the same time: each has a scratch of its own. */
static int load(struct sched *s, const struct probe *p, enum probe_wait_stacks means)
{
    s->skel = sched_bpf__open_opts(object_options());
    s->sleepers = s->skel ? sleepers_bpf__open_opts(object_options()) : NULL;
    if (!s->sleepers)
        return -errno;
    configure(s, p, means, &s->config);
    *(struct xp_config *)&s->skel->rodata->xp_config = s->config;
    *(struct xp_config *)&s->sleepers->rodata->xp_config = s->config;
    bpf_map__set_max_entries(s->skel->maps.lates, s->config.late ? XP_MAX_LATE : 1);
    const struct bpf_map *const scratch[] = {s->sleepers->maps.iter_scratch, NULL};
    int rc = object_share_maps(s->skel->obj, p->skel->obj, NULL);
    if (!rc)
        rc = sched_bpf__load(s->skel);
    if (!rc)
        rc = object_share_maps(s->sleepers->obj, p->skel->obj, scratch);
    if (!rc)
        rc = object_share_maps(s->sleepers->obj, s->skel->obj, scratch);
    if (!rc)
        rc = sleepers_bpf__load(s->sleepers);
    return rc ? rc : late_start(&s->late, p, &s->config, others_of(s, p).v, bpf_map__fd(s->skel->maps.resume_later));
}

/* ---- Requested processes ---- */

void sched_want(struct sched *s, u32 tgid)
{
    s->hints->wanted[tgid % XP_HINTS] = 1;
}

static int want_all(struct sched *s, const struct probe *p)
{
    int map = bpf_map__fd(p->skel->maps.wanted_pids);
    void *hints =
        mmap(NULL, sizeof(*s->hints), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(s->skel->maps.hints), 0);
    if (hints == MAP_FAILED)
        return -errno;
    s->hints = hints;
    if (p->config.target != XP_TARGET_PIDS)
        return 0;
    s->on_fork = bpf_program__attach(s->skel->progs.xp_hint_child);
    if (!s->on_fork)
        return -errno;
    for (u32 tgid, *from = NULL; !bpf_map_get_next_key(map, from, &tgid); from = &tgid)
        sched_want(s, tgid);
    return 0;
}

static int attach(struct sched *s)
{
    s->on_switch = bpf_program__attach(s->skel->progs.xp_on_switch);
    s->on_exec = s->on_switch ? bpf_program__attach(s->skel->progs.xp_on_exec) : NULL;
    if (!s->on_exec)
        return -errno;
    s->tell = bpf_program__attach_iter(s->sleepers->progs.xp_tell_waits, NULL);
    return s->tell ? 0 : -errno;
}

static int see_wakers(struct sched *s, const struct probe *p, bool wanted)
{
    if (!wanted)
        wakers_free(&s->wakers);
    return wanted && !s->wakers ? wakers_start(&s->wakers, p, &s->config, others_of(s, p).v) : 0;
}

static int see_locks(struct sched *s, const struct probe *p, bool wanted)
{
    if (!wanted)
        contention_free(&s->contention);
    return wanted && !s->contention ? contention_start(&s->contention, p, &s->config, others_of(s, p).v) : 0;
}

int sched_see(struct sched *s, const struct probe *p, struct sched_sees sees, char *why, size_t len)
{
    int wakers = see_wakers(s, p, sees.wakers), locks = see_locks(s, p, sees.locks);
    if (wakers)
        return probe_why(wakers, why, len, "nobody sees who wakes up threads: %s", strerror(-wakers));
    if (locks == -ENOTSUP)
        return probe_why(locks, why, len, "the event lock has no locks of the kernel: that takes Linux 5.19 or later");
    if (locks)
        return probe_why(locks, why, len, "the event lock has no locks of the kernel: %s", strerror(-locks));
    return 0;
}

static int explain(int rc, char *why, size_t len)
{
    if (denied_explains(rc, DENIED_BPF, why, len))
        return rc;
    return probe_why(rc, why, len, "the kernel rejected the eBPF programs that follow waits (%s): run `xprof check`",
                     denied_rejection(rc));
}

int sched_start(struct sched **out, const struct probe *p, struct sched_sees sees, char *why, size_t len)
{
    CLEANUP(sched_free) struct sched *s = calloc(1, sizeof(*s));
    if (!s)
        return probe_why(-ENOMEM, why, len, "out of memory");
    s->live = (struct xp_live *)&p->skel->bss->xp_live;
    __atomic_store_n(&s->live->ends, 0, __ATOMIC_RELEASE);
    enum probe_wait_stacks means = late_means(p);
    if (!probe_can_take(means))
        return probe_why(-ENOTSUP, why, len, "this kernel has no %s",
                         means == PROBE_STACKS_FINISH ? "kprobes" : "task work for eBPF programs: Linux 6.18 has it");
    int rc = load(s, p, means);
    if (rc && means != PROBE_STACKS_SWITCH && p->config.wait_stacks == PROBE_STACKS_AUTO) {
        unload(s);
        rc = load(s, p, PROBE_STACKS_SWITCH);
    }
    if (!rc)
        rc = want_all(s, p);
    if (!rc)
        sched_see(s, p, sees, why, len); /* before the first wait */
    if (!rc)
        rc = attach(s);
    if (rc)
        return explain(rc, why, len);
    *out = TAKE_PTR(s);
    return 0;
}

void sched_stop(struct sched *s)
{
    wakers_free(&s->wakers);
    contention_free(&s->contention);
    bpf_link__destroy(s->on_switch);
    s->on_switch = NULL;
    __atomic_store_n(&s->live->ends, 1, __ATOMIC_RELEASE);
    if (s->late) /* what is under way now has ended when the last waits are taken */
        usleep(2 * XP_LATE_NS / 1000);
}

void sched_free(struct sched **ss)
{
    struct sched *s = *ss;
    if (!s)
        return;
    bpf_link__destroy(s->on_switch);
    bpf_link__destroy(s->on_exec);
    bpf_link__destroy(s->on_fork);
    bpf_link__destroy(s->tell);
    if (s->hints)
        munmap(s->hints, sizeof(*s->hints));
    wakers_free(&s->wakers);
    contention_free(&s->contention);
    unload(s);
    free(s);
    *ss = NULL;
}

u64 sched_map_bytes(const struct sched *s)
{
    const struct bpf_map *own[] = {s->skel->maps.threads,          s->skel->maps.waits0,      s->skel->maps.waits1,
                                   s->skel->maps.told_stacks,      s->skel->maps.wait_groups, s->skel->maps.hints,
                                   s->sleepers->maps.iter_scratch, s->skel->maps.lates};
    u64 sum = wakers_map_bytes(s->wakers) + contention_map_bytes(s->contention) + late_map_bytes(s->late);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        sum += probe_map_memlock(bpf_map__fd(own[i]));
    return sum;
}

static void add_run_time(const struct bpf_object *object, int event, u64 ns[PROBE_RUN_TIMES])
{
    ns[event < 0 ? PROBE_WAITS : event] += run_time_of(object);
}

void sched_run_time(const struct sched *s, const struct probe *p, u64 ns[PROBE_RUN_TIMES])
{
    add_run_time(s->skel->obj, -1, ns);
    add_run_time(s->sleepers->obj, -1, ns);
    add_run_time(wakers_object(s->wakers), probe_event_by(p, PROBE_WAKEUP), ns);
    add_run_time(contention_object(s->contention), probe_event_by(p, PROBE_LOCK), ns);
}

/* A thread whose stack is to be taken, with its mappings. Returns the bytes that it took, 0: it is not there as a
 * whole.
 */
static size_t take_sleeper(const u8 *at, size_t len, struct probe_waits *out)
{
    struct xp_sleeper z;
    struct xp_mapping m;
    if (len < sizeof(z))
        return 0;
    memcpy(&z, at, sizeof(z));
    size_t whole = sizeof(z) + z.nmaps * sizeof(m);
    struct xp_sleeper *place = z.nmaps <= XP_DUMP_MAPS && whole <= len ? VEC_PUSH(&out->sleepers) : NULL;
    if (!place)
        return 0;
    *place = z;
    for (u32 i = 0; i < z.nmaps; i++) {
        struct xp_mapping *to = VEC_PUSH(&out->mappings);
        if (!to)
            return 0;
        memcpy(to, at + sizeof(z) + i * sizeof(m), sizeof(m));
    }
    return whole;
}

int sched_tell(struct sched *s, struct ring_buffer *ring, struct probe_waits *out)
{
    AUTO_FREE u8 *text = malloc(TEXT_BYTES);
    AUTO_CLOSE int fd = bpf_iter_create(bpf_link__fd(s->tell));
    size_t have = 0;
    ssize_t n = 1;
    if (fd < 0 || !text)
        return fd < 0 ? -errno : -ENOMEM;
    while ((n = read(fd, text + have, TEXT_BYTES - have)) > 0) {
        size_t end = have + (size_t)n, at = 0, took;
        while ((took = take_sleeper(text + at, end - at, out)) > 0)
            at += took;
        have = end - at;
        memmove(text, text + at, have);
        ring_buffer__consume(ring);
    }
    ring_buffer__consume(ring);
    return n < 0 ? -errno : 0;
}

static bool keep_sum(void *ctx, const void *key, const void *value)
{
    struct probe_waits *out = ctx;
    struct probe_wait *w = VEC_PUSH(&out->sums);
    if (!w)
        return false;
    memcpy(&w->key, key, sizeof(w->key));
    memcpy(&w->sum, value, sizeof(w->sum));
    return true;
}

int sched_take(struct sched *s, u32 interval, struct probe_waits *out)
{
    int emptied = probe_empty(interval & 1 ? s->skel->maps.waits1 : s->skel->maps.waits0, keep_sum, out);
    /* Stacks are sent again in each interval; without room for their keys, they would be at every wait. */
    int forgotten = probe_empty(s->skel->maps.told_stacks, NULL, NULL);
    return emptied ? emptied : forgotten;
}
