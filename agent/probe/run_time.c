/* The CPU time that eBPF programs take. The kernel measures it on request only (BPF_ENABLE_STATS, Linux 5.8), because
 * that doubles the cost of a small program, for all of the machine. So it is asked to do so for a short slice now and
 * then, and what is measured stands for the time from the end of one slice to that of the next. Where somebody has
 * turned the measuring on for good (kernel.bpf_stats_enabled), nothing has to be extrapolated.
 */
#include "probe/probe_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "probe/kinds.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SLICE_NS 100000000ull
#define PAUSE_NS 10000000000ull

u64 run_time_of(const struct bpf_object *object)
{
    const struct bpf_program *program = NULL;
    u64 sum = 0;
    while (object && (program = bpf_object__next_program(object, (struct bpf_program *)program))) {
        struct bpf_prog_info info = {0};
        u32 len = sizeof(info);
        int fd = bpf_program__fd(program);
        if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len))
            sum += info.run_time_ns;
    }
    return sum;
}

/* What the programs of each event have taken so far, while it was measured. */
static void read_all(const struct probe *p, u64 now[PROBE_RUN_TIMES])
{
    memset(now, 0, PROBE_RUN_TIMES * sizeof(*now));
    for (size_t e = 0; e < p->config.nevents; e++) {
        struct bpf_prog_info info = {0};
        u32 len = sizeof(info);
        if (probe_counts(p, e) && !bpf_obj_get_info_by_fd(p->progs[e], &info, &len))
            now[e] += info.run_time_ns;
    }
    if (p->kinds)
        kinds_run_time(p->kinds, now);
    if (p->sched)
        sched_run_time(p->sched, p, now);
}

/* Adds what was measured since `before`, times all / part. A program that was loaded anew begins at 0. */
static void add(struct run_time *r, const u64 now[PROBE_RUN_TIMES], u64 all, u64 part)
{
    for (size_t i = 0; i < PROBE_RUN_TIMES; i++) {
        u64 ns = now[i] >= r->before[i] ? now[i] - r->before[i] : now[i];
        u64 whole = part ? (u64)((double)ns * (double)all / (double)part) : ns;
        __atomic_fetch_add(&r->ns[i], whole, __ATOMIC_RELAXED);
    }
}

static bool always_on(void)
{
    AUTO_FCLOSE FILE *f = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");
    return f && fgetc(f) == '1';
}

/* From here on, or from the last slice on, there is something to stand for. */
static void begin(const struct probe *p, struct run_time *r, u64 now)
{
    r->always = always_on();
    if (r->always && r->known) {
        u64 sums[PROBE_RUN_TIMES];
        read_all(p, sums);
        add(r, sums, 0, 0);
        memcpy(r->before, sums, sizeof(sums));
        r->ended_ns = now;
        return;
    }
    r->fd = r->always ? -1 : bpf_enable_stats(BPF_STATS_RUN_TIME);
    __atomic_store_n(&r->known, r->always || r->fd >= 0, __ATOMIC_RELAXED);
    if (r->known)
        read_all(p, r->before);
    r->began_ns = now;
    r->ended_ns = r->ended_ns ? r->ended_ns : now;
}

void run_time_end(const struct probe *p, struct run_time *r, bool at_once)
{
    u64 now = now_ns(), sums[PROBE_RUN_TIMES];
    if (r->fd < 0 || (!at_once && now - r->began_ns < SLICE_NS))
        return;
    read_all(p, sums);
    xp_cleanup_close(&r->fd);
    r->fd = -1;
    add(r, sums, now - r->ended_ns, now - r->began_ns);
    r->ended_ns = now;
}

void run_time_tick(const struct probe *p, struct run_time *r)
{
    u64 now = now_ns();
    run_time_end(p, r, true); /* before programs are loaded, or unloaded */
    if (!p->config.sample_run_time || (r->began_ns && now - r->began_ns < PAUSE_NS))
        return;
    begin(p, r, now);
    r->began_ns = now;
}

bool probe_run_times(const struct probe *p, u64 ns[PROBE_RUN_TIMES])
{
    for (size_t i = 0; i < PROBE_RUN_TIMES; i++)
        ns[i] = __atomic_load_n(&p->run_time.ns[i], __ATOMIC_RELAXED);
    return __atomic_load_n(&p->run_time.known, __ATOMIC_RELAXED);
}
