/* Perf events: one per event kind and CPU, each running its sampler. */
#include "probe/probe_internal.h"
#include "base/cleanup.h"
#include "probe/denied.h"
#include "xprof.skel.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

int attach_init(struct probe *p)
{
    p->event_fds = malloc(sizeof(int) * (size_t)p->ncpus * XP_MAX_EVENTS);
    if (!p->event_fds)
        return -ENOMEM;
    for (int i = 0; i < p->ncpus * XP_MAX_EVENTS; i++)
        p->event_fds[i] = -1;
    for (size_t i = 0; i < p->config.nevents; i++)
        p->progs[i] = probe_counts(p, i) ? bpf_program__fd(probe_sampler(p, probe_counted(p, i))) : -1;
    return 0;
}

void attach_fini(struct probe *p)
{
    for (int i = 0; p->event_fds && i < p->ncpus * XP_MAX_EVENTS; i++)
        if (p->event_fds[i] >= 0)
            close(p->event_fds[i]);
    free(p->event_fds);
    p->event_fds = NULL;
}

/* A clock ticks with an exact period, so that nothing drifts; for everything else the kernel adapts the period. */
static int open_event(const struct probe_event *e, int cpu)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = e->perf_type,
        .config = e->perf_config,
        .config1 = e->perf_more[0],
        .config2 = e->perf_more[1],
        .freq = !e->time && !e->every,
        .exclude_idle = 1,
    };
    if (e->time)
        attr.sample_period = 1000000000ull / e->hz;
    else if (e->every)
        attr.sample_period = e->every;
    else
        attr.sample_freq = e->hz;
    long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

static int attach(struct probe *p, size_t event, int cpu)
{
    AUTO_CLOSE int fd = open_event(&p->config.events[event], cpu);
    if (fd < 0)
        return fd;
    if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, p->progs[event]) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
        return -errno;
    p->event_fds[cpu * XP_MAX_EVENTS + (int)event] = TAKE_FD(fd);
    return 0;
}

/* The list looks like "0-3,5". */
int probe_online(const struct probe *p, u8 *online)
{
    char list[4096];
    AUTO_FCLOSE FILE *f = fopen("/sys/devices/system/cpu/online", "re");
    if (!f || !fgets(list, sizeof(list), f))
        return f ? -EIO : -errno;
    for (char *at = list; *at >= '0' && *at <= '9';) {
        long lo = strtol(at, &at, 10), hi = lo;
        if (*at == '-')
            hi = strtol(at + 1, &at, 10);
        for (long cpu = lo; cpu <= hi && cpu < p->ncpus; cpu++)
            online[cpu / 8] |= (u8)(1 << cpu % 8);
        at += *at == ',';
    }
    return 0;
}

static int attach_cpu(struct probe *p, int cpu)
{
    for (size_t e = 0; e < p->config.nevents; e++) {
        if (!probe_counts(p, e) || p->event_fds[cpu * XP_MAX_EVENTS + (int)e] >= 0)
            continue;
        int rc = attach(p, e, cpu);
        p->refused = rc ? e : p->refused;
        if (rc && rc != -ENODEV) /* went offline meanwhile */
            return rc;
    }
    return 0;
}

/* The events of a CPU that went offline are dead: they do not come back with it. */
static void detach_cpu(struct probe *p, int cpu)
{
    for (int e = 0; e < XP_MAX_EVENTS; e++) {
        int *fd = &p->event_fds[cpu * XP_MAX_EVENTS + e];
        xp_cleanup_close(fd);
        *fd = -1;
    }
}

/* Every event on every CPU that is online, and on no other. The first failure ends it, unless `all` are to be tried. */
static int attach_online(struct probe *p, bool all)
{
    u8 online[PROBE_MAX_CPUS / 8] = {0};
    int rc = probe_online(p, online);
    if (rc)
        return rc;
    for (int cpu = 0; cpu < p->ncpus && (!rc || all); cpu++)
        if (online[cpu / 8] >> cpu % 8 & 1)
            rc = attach_cpu(p, cpu);
        else
            detach_cpu(p, cpu);
    return rc;
}

/* The kernel has no such event. */
static int explain_refusal(const struct probe *p, int rc, char *why, size_t len)
{
    const char *name = p->config.events[p->refused].name;
    return probe_why(rc, why, len, "%s%s%s", name ? "-e " : "", name ? name : "an event",
                     rc == -EINVAL ? ": the kernel cannot sample it: its PMU only counts, or has no such setting"
                                   : ": this machine cannot count it: it has no such hardware counter");
}

int probe_start(struct probe *p, char *why, size_t len)
{
    int rc = attach_online(p, false);
    p->running = !rc;
    if (rc == -ENOENT || rc == -EOPNOTSUPP || rc == -ENODEV || rc == -EINVAL)
        return explain_refusal(p, rc, why, len);
    if (rc && denied_explains(rc, DENIED_PERF, why, len))
        return rc;
    if (rc == -EMFILE)
        return probe_why(rc, why, len, "too many open files: raise the limit (ulimit -n)");
    if (rc)
        return probe_why(rc, why, len, "cannot open perf events: %s", strerror(-rc));
    rc = waits_start(p, why, len);
    if (rc >= 0 && p->config.heap_hold && guard_start(p) && !why[0])
        snprintf(why, len, "cannot start a process that continues what is stopped if this one is killed");
    return rc < 0 ? rc : 0;
}

int probe_rescan(struct probe *p, char *why, size_t len)
{
    why[0] = 0;
    if (!p->running)
        return 0;
    attach_online(p, true);
    run_time_tick(p, &p->run_time);
    return waits_changed(p) ? waits_start(p, why, len) : 0;
}

/* Samples weigh as much as the period of their clock from here on. */
static void tell_period(struct probe *p, size_t event, u64 period_ns)
{
    __atomic_store_n((u64 *)&p->skel->bss->xp_live.period[event], period_ns, __ATOMIC_RELAXED);
}

int probe_set_rate(struct probe *p, unsigned hz)
{
    u64 period = 1000000000ull / hz;
    int rc = 0;
    for (size_t e = 0; e < p->config.nevents; e++) {
        if (!p->config.events[e].time)
            continue;
        p->config.events[e].hz = hz;
        for (int cpu = 0; cpu < p->ncpus; cpu++) {
            int fd = p->event_fds[cpu * XP_MAX_EVENTS + (int)e];
            if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_PERIOD, &period))
                rc = -errno;
        }
        tell_period(p, e, period);
    }
    return rc;
}

void probe_stop(struct probe *p)
{
    p->running = false;
    waits_stop(p);
    for (int i = 0; i < p->ncpus * XP_MAX_EVENTS; i++)
        if (p->event_fds[i] >= 0)
            ioctl(p->event_fds[i], PERF_EVENT_IOC_DISABLE, 0);
}
