#include "probe/probe_internal.h"
#include "base/cleanup.h"
#include "probe/denied.h"
#include "sched.skel.h"
#include "sleepers.skel.h"
#include "xprof.skel.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define GRACE_US   1000        /* programs that began before an interval ended have ended by then */
#define BATCH      512         /* sums a system call brings */
#define TEXT_BYTES (64u << 10) /* of the iterator's: the kernel writes half of it at most */

struct sched {
    struct sched_bpf *skel;
    struct sleepers_bpf *sleepers;
    struct bpf_link *on_switch, *on_fork, *tell;
    struct wakers *wakers; /* NULL: nobody wants to know who wakes up */
    struct xp_config config;
    struct xp_hints *hints; /* mapped */
    struct xp_live *live;   /* shared with all objects */
};

/* Whether sched_switch passes the state of the previous task (five parameters with the hidden one, Linux 5.18). */
static bool passes_state(void)
{
    struct btf *btf = btf__load_vmlinux_btf();
    int id = btf ? btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF) : -1;
    const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;
    for (int i = 0; t && i < 2; i++) /* typedef -> pointer -> prototype */
        t = btf__type_by_id(btf, t->type);
    bool passes = t && btf_is_func_proto(t) && btf_vlen(t) >= 5;
    btf__free(btf);
    return passes;
}

static void configure(const struct sched *s, const struct probe *p, struct xp_config *out)
{
    struct xp_config c = *(const struct xp_config *)&p->skel->rodata->xp_config;
    c.offcpu = waits_bit(p, PROBE_OFFCPU);
    c.runqueue = waits_bit(p, PROBE_RUNQUEUE);
    c.lock = waits_bit(p, PROBE_LOCK);
    c.wakeup = waits_bit(p, PROBE_WAKEUP);
    c.prev_state = passes_state();
    c.kernel_threads = p->config.kernel_threads;
    c.wait_min = p->config.wait_min_ns;
    c.wait_shares = p->config.cgroup_files != 0; /* as they have shares of files */
    if (getrandom(&c.seed, sizeof(c.seed), GRND_NONBLOCK) != sizeof(c.seed))
        c.seed = (uintptr_t)s;
    *out = c;
}

/* Names of internal maps begin with that of their object. */
static bool same_map(const struct bpf_map *one, const struct bpf_map *two)
{
    const char *x = bpf_map__name(one), *y = bpf_map__name(two);
    if (bpf_map__is_internal(one) && bpf_map__is_internal(two))
        return strstr(x, ".bss") && strstr(y, ".bss");
    return !strcmp(x, y);
}

static bool is_one_of(const struct bpf_map *map, const struct bpf_map *const *list)
{
    for (; list && *list; list++)
        if (*list == map)
            return true;
    return false;
}

int sched_share_maps(struct bpf_object *object, struct bpf_object *first, const struct bpf_map *const *but)
{
    struct bpf_map *own, *theirs;
    bpf_object__for_each_map(own, object)
    {
        if (is_one_of(own, but))
            continue;
        bpf_object__for_each_map(theirs, first)
        {
            int rc = same_map(own, theirs) ? bpf_map__reuse_fd(own, bpf_map__fd(theirs)) : 0;
            if (rc)
                return rc;
        }
    }
    return 0;
}

/* Iterators of two objects may run at the same time: each has a scratch of its own. */
static int load(struct sched *s, const struct probe *p)
{
    s->skel = sched_bpf__open();
    s->sleepers = s->skel ? sleepers_bpf__open() : NULL;
    if (!s->sleepers)
        return -errno;
    configure(s, p, &s->config);
    *(struct xp_config *)&s->skel->rodata->xp_config = s->config;
    *(struct xp_config *)&s->sleepers->rodata->xp_config = s->config;
    const struct bpf_map *const scratch[] = {s->sleepers->maps.iter_scratch, NULL};
    int rc = sched_share_maps(s->skel->obj, p->skel->obj, NULL);
    if (!rc)
        rc = sched_bpf__load(s->skel);
    if (!rc)
        rc = sched_share_maps(s->sleepers->obj, p->skel->obj, scratch);
    if (!rc)
        rc = sched_share_maps(s->sleepers->obj, s->skel->obj, scratch);
    return rc ? rc : sleepers_bpf__load(s->sleepers);
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
    if (!s->on_switch)
        return -errno;
    s->tell = bpf_program__attach_iter(s->sleepers->progs.xp_tell_waits, NULL);
    return s->tell ? 0 : -errno;
}

int sched_see_wakers(struct sched *s, const struct probe *p, bool wanted)
{
    if (!wanted)
        wakers_free(&s->wakers);
    return wanted && !s->wakers ? wakers_start(&s->wakers, p, &s->config, p->skel->obj, s->skel->obj) : 0;
}

static int explain(int rc, char *why, size_t len)
{
    if (denied_explains(rc, DENIED_BPF, why, len))
        return rc;
    return probe_why(rc, why, len, "the kernel rejected the eBPF programs that follow waits (%s): run `xprof check`",
                     strerror(-rc));
}

int sched_start(struct sched **out, const struct probe *p, bool wakers, char *why, size_t len)
{
    CLEANUP(sched_free) struct sched *s = calloc(1, sizeof(*s));
    if (!s)
        return probe_why(-ENOMEM, why, len, "out of memory");
    s->live = (struct xp_live *)&p->skel->bss->xp_live;
    int rc = load(s, p);
    if (!rc)
        rc = want_all(s, p);
    if (!rc)
        rc = sched_see_wakers(s, p, wakers);
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
    bpf_link__destroy(s->on_switch);
    s->on_switch = NULL;
}

void sched_free(struct sched **ss)
{
    struct sched *s = *ss;
    if (!s)
        return;
    bpf_link__destroy(s->on_switch);
    bpf_link__destroy(s->on_fork);
    bpf_link__destroy(s->tell);
    if (s->hints)
        munmap(s->hints, sizeof(*s->hints));
    wakers_free(&s->wakers);
    sleepers_bpf__destroy(s->sleepers);
    sched_bpf__destroy(s->skel);
    free(s);
    *ss = NULL;
}

u64 sched_map_bytes(const struct sched *s)
{
    const struct bpf_map *own[] = {s->skel->maps.threads,         s->skel->maps.waits0,      s->skel->maps.waits1,
                                   s->skel->maps.told_stacks,     s->skel->maps.wait_groups, s->skel->maps.hints,
                                   s->sleepers->maps.iter_scratch};
    u64 sum = wakers_map_bytes(s->wakers);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        sum += probe_map_memlock(bpf_map__fd(own[i]));
    return sum;
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

static int tell_waits(struct sched *s, struct ring_buffer *ring, struct probe_waits *out)
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

/* Empties a map and passes what was in it to `keep` (NULL: to nobody), which returns false when there is no memory.
 * Returns 0 or -errno. */
static int empty(const struct bpf_map *map, bool (*keep)(void *ctx, const void *key, const void *value), void *ctx)
{
    LIBBPF_OPTS(bpf_map_batch_opts, opts);
    size_t key = bpf_map__key_size(map), value = bpf_map__value_size(map);
    AUTO_FREE u8 *keys = calloc(BATCH, key);
    AUTO_FREE u8 *values = calloc(BATCH, value);
    u32 from = 0, at, n;
    int rc = keys && values ? 0 : -ENOMEM;
    for (bool first = true; !rc; first = false, from = at) {
        n = BATCH;
        if (bpf_map_lookup_and_delete_batch(bpf_map__fd(map), first ? NULL : &from, &at, keys, values, &n, &opts))
            rc = -errno; /* -ENOENT: these are the last */
        for (u32 i = 0; keep && (!rc || rc == -ENOENT) && i < n; i++)
            if (!keep(ctx, keys + i * key, values + i * value))
                return -ENOMEM;
    }
    return rc == -ENOENT ? 0 : rc;
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

int sched_take(struct sched *s, struct ring_buffer *ring, struct probe_waits *out)
{
    int rc = tell_waits(s, ring, out);
    u32 ended = __atomic_fetch_add(&s->live->interval, 1, __ATOMIC_RELEASE);
    usleep(GRACE_US);
    int emptied = empty(ended & 1 ? s->skel->maps.waits1 : s->skel->maps.waits0, keep_sum, out);
    /* Stacks are sent again in each interval; without room for their keys, they would be at every wait. */
    int forgotten = empty(s->skel->maps.told_stacks, NULL, NULL);
    return rc ? rc : emptied ? emptied : forgotten;
}
