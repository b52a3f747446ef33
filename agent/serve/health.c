#include "serve/health_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#define HEALTHY_NS (30 * NS_PER_SEC) /* the collector comes round twice a second */
#define ASK_MS     2000
/* The longest that one job may take: an interval with many new files, each of which may use up the parser's time. */
#define HUNG_NS (600 * NS_PER_SEC)
#define LATE_NS (60 * NS_PER_SEC)

/* A thread's name without what is not its own, and its CPU time; false: gone. */
static bool thread_cpu(const char *tid, char name[32], double *seconds)
{
    char path[64], own[24];
    AUTO_FREE char *text = NULL;
    unsigned long long user, system;
    snprintf(own, sizeof(own), "%d", (int)getpid());
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", tid);
    if (fs_read_file(path, 4096, &text, NULL))
        return false;
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close - open > 31 ||
        sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
        return false;
    snprintf(name, 32, "%.*s", (int)(close - open - 1), open + 1);
    if (!strcmp(tid, own)) /* the main thread has the program's name, for ps */
        snprintf(name, 32, "main");
    if (!strncmp(name, "MHD", 3)) /* libmicrohttpd names its own */
        snprintf(name, 32, "server");
    *seconds = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return true;
}

/* CPU by stage: threads carry the names of what they do. */
static void collect_stages(struct health_figures *f)
{
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir)) && f->nstages < HEALTH_STAGES;) {
        struct health_stage *s = f->stages, new;
        if (e->d_name[0] == '.' || !thread_cpu(e->d_name, new.name, &new.cpu_seconds))
            continue;
        while (s < f->stages + f->nstages && strcmp(s->name, new.name) != 0)
            s++;
        if (s == f->stages + f->nstages)
            f->stages[f->nstages++] = new;
        else
            s->cpu_seconds += new.cpu_seconds;
    }
    if (dir)
        closedir(dir);
}

void health_metrics(void *health, bool openmetrics, struct buf *out)
{
    const struct health *v = health;
    struct health_figures f = {
        .node = v->node,
        .rate = __atomic_load_n(&v->rate, __ATOMIC_RELAXED),
        .throttled = __atomic_load_n(&v->throttled, __ATOMIC_RELAXED),
        .reloads = __atomic_load_n(&v->reloads, __ATOMIC_RELAXED),
        .reload_errors = __atomic_load_n(&v->reload_errors, __ATOMIC_RELAXED),
    };
    struct export_stats s;
    pipeline_figures(v->pipeline, &f.pipeline);
    pipeline_disks(v->pipeline, &f.disks, &f.disks_left_out);
    pipeline_lag(v->pipeline, &f.lag);
    collect_stages(&f);
    publisher_stats(v->publisher, &f.publisher);
    for (size_t i = 0; exports_stats(v->exports, i, &s); i++) {
        struct export_stats *place = VEC_PUSH(&f.exports);
        if (place)
            *place = s;
    }
    exports_spool_stats(v->exports, &f.spool);
    f.discovered = !discover_stats(v->discover, &f.discover, ASK_MS);
    health_write(out, openmetrics, &f);
    vec_free(&f.exports);
    vec_free(&f.disks);
}

bool health_worker_lives(const struct worker_lag *lag, struct buf *why)
{
    if (lag->busy_ns < HUNG_NS)
        return true;
    buf_printf(why, "the worker thread has been stuck for %.0f s\n", (double)lag->busy_ns / 1e9);
    return false;
}

bool health_worker_keeps_up(const struct worker_lag *lag, struct buf *why)
{
    if (lag->late_ns < LATE_NS)
        return true;
    buf_printf(why, "profiles are %.0f s late\n", (double)lag->late_ns / 1e9);
    return false;
}

bool health_healthy(void *health, struct buf *why)
{
    const struct health *v = health;
    struct worker_lag lag;
    u64 ago = now_ns() - __atomic_load_n(&v->looped_ns, __ATOMIC_RELAXED);
    if (ago >= HEALTHY_NS) {
        buf_printf(why, "the collector thread has been stuck for %.0f s\n", (double)ago / 1e9);
        return false;
    }
    pipeline_lag(v->pipeline, &lag);
    if (!health_worker_lives(&lag, why))
        return false;
    buf_str(why, "alive\n");
    return true;
}

/* Sampling runs, profiles are in time, pods and runtime were reached. Not whether a server takes profiles: an outage
 * there would make every agent of the cluster unready, stop a rolling update, and take the agents out of Services. */
bool health_ready(void *health, struct buf *why)
{
    const struct health *v = health;
    struct discover_stats d;
    struct worker_lag lag;
    if (!health_healthy(health, why))
        return false;
    why->len = 0;
    pipeline_lag(v->pipeline, &lag);
    if (!health_worker_keeps_up(&lag, why))
        return false;
    if (discover_stats(v->discover, &d, ASK_MS)) {
        buf_str(why, "the discovery thread does not respond\n");
        return false;
    }
    if (!d.synced) {
        buf_printf(why, "the pods of this node are not known yet: %s\n",
                   !d.by_runtime      ? "the API server or kubelet has not listed them yet"
                   : d.runtime_why[0] ? d.runtime_why
                                      : "the container runtime has not been queried yet");
        return false;
    }
    buf_printf(why, "ready%s%s\n", d.runtime_why[0] ? "; container runtime: " : "", d.runtime_why);
    return true;
}

bool health_exports(void *health, struct buf *why)
{
    const struct health *v = health;
    struct export_stats s = {0};
    bool up = false;
    size_t n = 0;
    for (; exports_stats(v->exports, n, &s); n++)
        up |= !s.sick;
    if (!up)
        buf_printf(why, n ? "no exporter gets through: %s\n" : "no exporter is configured%s\n", s.error);
    else
        buf_str(why, "profiles are exported\n");
    return up;
}

bool health_targets(void *health, struct buf *json)
{
    const struct health *v = health;
    int rc = discover_targets(v->discover, json, ASK_MS);
    if (rc)
        buf_str(json, "null\n");
    return !rc;
}
