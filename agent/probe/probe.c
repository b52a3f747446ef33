#include "probe/probe_internal.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "probe/denied.h"
#include "probe/kernel_types.h"
#include "probe/object_options.h"
#include "probe/records.h"
#include "xprof.skel.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>

int probe_why(int err, char *why, size_t len, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, len, fmt, ap);
    va_end(ap);
    return err;
}

/* libbpf's own words, the verifier's log among them: only for those who asked. */
static int relay(enum libbpf_print_level level, const char *fmt, va_list ap)
{
    return level == LIBBPF_WARN && log_shows(LOG_INFO) ? vfprintf(stderr, fmt, ap) : 0;
}

/* Kernels before 5.11 charge maps to RLIMIT_MEMLOCK; without CAP_SYS_RESOURCE the load then fails by itself. */
static void raise_memlock(void)
{
    struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

static u32 ring_size(const struct probe *p)
{
    size_t want = p->config.ring_bytes ? p->config.ring_bytes : (size_t)p->ncpus << 18;
    u32 size = 1 << 20;
    while (size < want && size < (64u << 20))
        size <<= 1;
    return size;
}

struct bpf_program *probe_sampler(const struct probe *p, size_t number)
{
    char name[32];
    snprintf(name, sizeof(name), "xp_event_%zu", number);
    return bpf_object__find_program_by_name(p->skel->obj, name);
}

bool probe_counts(const struct probe *p, size_t event)
{
    return event < p->config.nevents && p->config.events[event].how == PROBE_PERF;
}

size_t probe_counted(const struct probe *p, size_t before)
{
    size_t n = 0;
    for (size_t e = 0; e < before; e++)
        n += probe_counts(p, e);
    return n;
}

/* Which programs are loaded: only what this recording needs. */
static void choose_programs(struct probe *p)
{
    for (size_t i = 0; i < XP_MAX_PERF; i++)
        bpf_program__set_autoload(probe_sampler(p, i), i < probe_counted(p, XP_MAX_EVENTS));
    bool follow = p->config.target == XP_TARGET_PIDS;
    bpf_program__set_autoload(p->skel->progs.xp_on_fork, follow);
    bpf_program__set_autoload(p->skel->progs.xp_on_free, follow);
    bpf_program__set_autoload(p->skel->progs.xp_on_cgroup_mkdir, p->config.cgroup_events);
    bpf_program__set_autoload(p->skel->progs.xp_on_cgroup_rmdir, p->config.cgroup_events);
}

static int kernel_major(void)
{
    struct utsname u;
    int major = 0;
    return !uname(&u) && sscanf(u.release, "%d.", &major) == 1 ? major : 0;
}

static void configure(struct probe *p)
{
    const struct probe_config *c = &p->config;
    u32 ring = ring_size(p);
    *(struct xp_config *)&p->skel->rodata->xp_config = (struct xp_config){
        .target = c->target,
        .cgroup_subsys = c->cgroup_subsys,
        .cpus = (u32)p->ncpus,
        .kernel = c->kernel,
        .user = c->user,
        .measure = c->measure,
        .ring_bytes = ring,
        .thread_names = c->thread_names,
        .thread_labels = c->thread_labels,
        .thread_ids = c->thread_ids,
        .cgroup_files = c->cgroup_files,
        .preempted = kernel_major() >= 7,
    };
    for (u32 e = 0; e < c->nevents; e++)
        if (probe_counts(p, e))
            ((struct xp_config *)&p->skel->rodata->xp_config)->perf_event[probe_counted(p, e)] = e;
    bpf_map__set_max_entries(p->skel->maps.pc_cache, (u32)p->ncpus);
    bpf_map__set_max_entries(p->skel->maps.scratch, (u32)p->ncpus);
    bpf_map__set_max_entries(p->skel->maps.ring, ring);
    if (!c->cgroup_files)
        bpf_map__set_max_entries(p->skel->maps.cgroup_files, 1);
    if (c->target != XP_TARGET_PIDS)
        bpf_map__set_max_entries(p->skel->maps.wanted_pids, 1);
    if (c->target != XP_TARGET_CGROUP) {
        bpf_map__set_max_entries(p->skel->maps.wants, 1);
        bpf_map__set_max_entries(p->skel->maps.decisions, 1);
        bpf_map__set_max_entries(p->skel->maps.parts, 1);
    }
}

static int explain_load(int err, char *why, size_t len)
{
    if (denied_explains(err, DENIED_BPF, why, len))
        return err;
    if (err == -ESRCH || err == -ENOENT)
        return probe_why(err, why, len,
                         "this kernel has no BTF (/sys/kernel/btf/vmlinux): CONFIG_DEBUG_INFO_BTF is needed");
    if (err == -ENOMEM)
        return probe_why(err, why, len,
                         "no memory for eBPF maps: raise the memory limit of this cgroup or RLIMIT_MEMLOCK");
    return probe_why(err, why, len, "the kernel rejected the eBPF programs (%s): run `xprof check`",
                     denied_rejection(err));
}

/* With an excerpt of the kernel's types, which is read when the object is loaded; without, if there is none. */
static int open_object(struct probe *p, int types)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
    const struct bpf_object_open_opts excerpt = {.sz = sizeof(excerpt), .btf_custom_path = path};
    p->skel = types < 0 ? NULL : xprof_bpf__open_opts(&excerpt);
    if (p->skel && !kernel_types_write(bpf_object__btf(p->skel->obj), types, p->typed.type, TYPED_MAX))
        return 0;
    xprof_bpf__destroy(p->skel);
    p->skel = xprof_bpf__open_opts(object_options());
    return p->skel ? 0 : -errno;
}

/* The iterator is 5.12's; without it files are found only as samples meet them. */
static int load(struct probe *p)
{
    configure(p);
    choose_programs(p);
    int rc = xprof_bpf__load(p->skel);
    if (!rc || rc == -EPERM)
        return rc;
    xprof_bpf__destroy(p->skel);
    p->skel = xprof_bpf__open_opts(object_options());
    if (!p->skel)
        return -errno;
    configure(p);
    choose_programs(p);
    bpf_program__set_autoload(p->skel->progs.xp_list_mappings, false);
    return xprof_bpf__load(p->skel);
}

static int link_pair(struct probe *p, struct bpf_link **links, struct bpf_program *one, struct bpf_program *two)
{
    links[0] = bpf_program__attach_trace(one);
    links[1] = links[0] ? bpf_program__attach_trace(two) : NULL;
    return links[1] ? 0 : -errno;
}

static int link_tracepoints(struct probe *p)
{
    int rc = 0;
    if (p->config.target == XP_TARGET_PIDS)
        rc = link_pair(p, p->links, p->skel->progs.xp_on_fork, p->skel->progs.xp_on_free);
    if (!rc && p->config.cgroup_events)
        rc = link_pair(p, p->links + 2, p->skel->progs.xp_on_cgroup_mkdir, p->skel->progs.xp_on_cgroup_rmdir);
    return rc;
}

static int set_targets(struct probe *p)
{
    for (size_t i = 0; i < p->config.npids; i++)
        if (probe_add_pid(p, p->config.pids[i]))
            return -errno;
    if (p->config.target != XP_TARGET_CGROUP || !p->config.cgroup)
        return 0;
    return probe_want(p, p->config.cgroup, XP_WANT(~0u, 1));
}

static int on_record(void *ctx, void *data, size_t len)
{
    struct probe *p = ctx;
    p->malformed += !record_dispatch(p->handlers, data, len);
    return 0;
}

/* What the verifier had to look at decides how long loading takes. */
static void log_verified(const struct probe *p)
{
    struct bpf_program *prog;
    bpf_object__for_each_program(prog, p->skel->obj)
    {
        struct bpf_prog_info info = {0};
        u32 len = sizeof(info);
        if (bpf_program__fd(prog) >= 0 && !bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
            log_info("eBPF %s: %u instructions verified", bpf_program__name(prog), info.verified_insns);
    }
}

static int start_up(struct probe *p, char *why, size_t len)
{
    raise_memlock();
    libbpf_set_print(relay);
    libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
    p->ncpus = libbpf_num_possible_cpus();
    if (p->ncpus < 1 || p->ncpus > PROBE_MAX_CPUS)
        return probe_why(-EINVAL, why, len, "cannot read the number of CPUs (/sys/devices/system/cpu/possible)");
    AUTO_CLOSE int types = memfd_create("kernel-types", MFD_CLOEXEC);
    int rc = typed_begin(&p->typed);
    if (!rc)
        rc = open_object(p, types);
    if (!rc)
        rc = load(p);
    if (rc)
        return explain_load(rc, why, len);
    if (log_shows(LOG_INFO))
        log_verified(p);
    rc = tables_init(p);
    if (!rc)
        rc = attach_init(p);
    if (!rc)
        rc = set_targets(p);
    if (!rc)
        rc = link_tracepoints(p);
    if (rc)
        return probe_why(rc, why, len, "cannot set up the eBPF maps: %s", strerror(-rc));
    p->ring = ring_buffer__new(bpf_map__fd(p->skel->maps.ring), on_record, p, NULL);
    return p->ring ? 0 : probe_why(-errno, why, len, "cannot map the ring buffer: %s", strerror(errno));
}

int probe_new(struct probe **out, const struct probe_config *config, char *why, size_t why_len)
{
    struct probe *p = calloc(1, sizeof(*p));
    if (!p)
        return probe_why(-ENOMEM, why, why_len, "out of memory");
    p->config = *config;
    p->published = config->heap_hold ? calloc(XP_FILE_IDS / 8, 1) : NULL; /* pages of it are touched as needed */
    p->run_time.fd = p->guard_pidfd = -1;
    pthread_mutex_init(&p->listing, NULL);
    pthread_mutex_init(&p->guarding, NULL);
    disks_init(&p->disks);
    p->stats_fd = config->run_time ? bpf_enable_stats(BPF_STATS_RUN_TIME) : -1;
    int rc = start_up(p, why, why_len);
    if (rc)
        probe_free(&p);
    else
        *out = p;
    return rc;
}

void probe_free(struct probe **pp)
{
    struct probe *p = *pp;
    if (!p)
        return;
    waits_end(p);
    attach_fini(p);
    guard_end(p);
    ring_buffer__free(p->ring);
    for (size_t i = 0; i < sizeof(p->links) / sizeof(*p->links); i++)
        bpf_link__destroy(p->links[i]);
    tables_fini(p);
    xp_cleanup_close(&p->stats_fd);
    xp_cleanup_close(&p->run_time.fd);
    xprof_bpf__destroy(p->skel);
    typed_end(&p->typed);
    free(p->published);
    disks_free(&p->disks);
    pthread_mutex_destroy(&p->listing);
    pthread_mutex_destroy(&p->guarding);
    free(p);
    *pp = NULL;
}

int probe_add_pid(struct probe *p, u32 tgid)
{
    u32 one = 1;
    int rc = bpf_map__update_elem(p->skel->maps.wanted_pids, &tgid, 4, &one, 4, BPF_ANY);
    if (!rc && p->sched)
        sched_want(p->sched, tgid);
    return rc;
}

/* The kernel side decides anew about every cgroup that it meets. */
static void wants_changed(struct probe *p)
{
    __atomic_add_fetch((u32 *)&p->skel->bss->xp_live.wants, 1, __ATOMIC_RELEASE);
}

int probe_want(struct probe *p, u64 cgroup, u64 want)
{
    int rc = bpf_map__update_elem(p->skel->maps.wants, &cgroup, 8, &want, 8, BPF_ANY);
    if (!rc)
        wants_changed(p);
    return rc == -E2BIG ? -ENOSPC : rc;
}

int probe_set_parts(struct probe *p, u32 row, const struct xp_parts *parts)
{
    return bpf_map__update_elem(p->skel->maps.parts, &row, sizeof(row), parts, sizeof(*parts), BPF_ANY);
}

void probe_unwant(struct probe *p, u64 cgroup)
{
    if (!bpf_map__delete_elem(p->skel->maps.wants, &cgroup, 8, 0))
        wants_changed(p);
}

int probe_poll(struct probe *p, const struct probe_handlers *h, int timeout_ms)
{
    p->handlers = h;
    int rc = ring_buffer__poll(p->ring, timeout_ms);
    if (!rc || rc == -EINTR) /* samples ask for no wake-up: look for them anyway */
        rc = ring_buffer__consume(p->ring);
    p->handlers = NULL;
    run_time_end(p, &p->run_time, false);
    return rc;
}
