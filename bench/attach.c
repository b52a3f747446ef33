/* Events that are wanted and no longer wanted, as pods come and go: what a change costs, and that nothing stays behind,
 * in this process or in the kernel. The reference is the first tenth of the rounds. And a wait that goes on counts for
 * events that are wanted only then.
 *
 *     bench/attach [ROUNDS]      (root)
 *
 * In each round, a cgroup is made and all events that are loaded on demand are wanted of it; a process in it waits;
 * then the want and the cgroup go.
 */
#include "base/clock.h"
#include "base/map.h"
#include "events/events.h"
#include "probe/probe.h"
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_MS  500 /* until the kernel has freed what was closed */
#define LASTING_MS 400

struct state { /* what could leak */
    u64 descriptors, programs, maps, links, rss_kib;
};

/* ---- Whose they are ----
 * Other profilers of this machine load and unload programs meanwhile: what another process has open is not ours.
 */
static const char *const object_ids[] = {"prog_id", "map_id", "link_id"};

static u64 object_key(size_t kind, u32 id)
{
    return (u64)(kind + 1) << 32 | id;
}

static void note_descriptor(struct map *others, const char *path)
{
    char line[128];
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        char *value = strchr(line, ':');
        for (size_t k = 0; value && k < sizeof(object_ids) / sizeof(*object_ids); k++)
            if (!strncmp(line, object_ids[k], strlen(object_ids[k])))
                map_put(others, object_key(k, (u32)strtoul(value + 1, NULL, 10)));
    }
    if (f)
        fclose(f);
}

static void note_others(struct map *others)
{
    glob_t all;
    char own[48];
    int n = snprintf(own, sizeof(own), "/proc/%d/", getpid());
    if (glob("/proc/[0-9]*/fdinfo/*", GLOB_NOSORT, NULL, &all))
        return;
    for (size_t i = 0; i < all.gl_pathc; i++)
        if (strncmp(all.gl_pathv[i], own, (size_t)n) != 0)
            note_descriptor(others, all.gl_pathv[i]);
    globfree(&all);
}

static u64 count_ids(int (*next)(u32, u32 *), size_t kind, const struct map *others)
{
    u64 n = 0;
    for (u32 id = 0; !next(id, &id);)
        n += !map_get(others, object_key(kind, id));
    return n;
}

static u64 count_descriptors(void)
{
    u64 n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static u64 resident_kib(void)
{
    unsigned long size, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%lu %lu", &size, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (u64)sysconf(_SC_PAGESIZE) / 1024;
}

static struct state look(void)
{
    struct map others = {0};
    usleep(SETTLE_MS * 1000);
    note_others(&others);
    struct state s = {count_descriptors(), count_ids(bpf_prog_get_next_id, 0, &others),
                      count_ids(bpf_map_get_next_id, 1, &others), count_ids(bpf_link_get_next_id, 2, &others),
                      resident_kib()};
    map_free(&others);
    return s;
}

/* ---- A round ---- */

struct rounds {
    struct probe *probe;
    char folder[64];
    u32 want, offcpu, lock; /* the last two: bits of these events */
    u64 stacks, sums, ns;
};

static void on_sample(void *ctx, const struct xp_sample *s, size_t len)
{
    struct rounds *r = ctx;
    r->stacks++;
}

static void on_file(void *ctx, const struct xp_file_event *e)
{
}

static void on_dump(void *ctx, const struct xp_dump *d)
{
}

static struct probe_handlers handlers(struct rounds *r)
{
    return (struct probe_handlers){.ctx = r, .sample = on_sample, .stack = on_sample, .file = on_file, .dump = on_dump};
}

static int change(struct rounds *r, u64 cgroup, u32 want)
{
    char why[256] = "";
    u64 from = now_ns();
    int rc = 0;
    if (want)
        rc = probe_want(r->probe, cgroup, want);
    else
        probe_unwant(r->probe, cgroup);
    if (!rc)
        rc = probe_rescan(r->probe, why, sizeof(why));
    r->ns += now_ns() - from;
    if (rc < 0)
        fprintf(stderr, "attach: %s\n", why[0] ? why : strerror(-rc));
    return rc < 0 ? rc : 0;
}

/* A process in the cgroup. Returns its PID, 0 in it, or -1. */
static pid_t fork_inside(const char *folder)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
    pid_t child = fork();
    int fd = child ? -1 : open(path, O_WRONLY);
    if (!child && (fd < 0 || write(fd, "0", 1) != 1))
        _exit(1);
    return child;
}

/* One that waits three times. */
static int wait_inside(const char *folder)
{
    int status;
    pid_t child = fork_inside(folder);
    if (child)
        return child > 0 && waitpid(child, &status, 0) == child && !status ? 0 : -ECHILD;
    for (int i = 0; i < 3; i++)
        usleep(1000);
    _exit(0);
}

/* A process that has ended leaves its cgroup a moment later. */
static int remove_cgroup(const char *folder)
{
    for (int tries = 0; rmdir(folder); tries++) {
        if (errno != EBUSY || tries == 1000)
            return -errno;
        usleep(1000);
    }
    return 0;
}

static int go_round(struct rounds *r)
{
    struct stat st;
    struct probe_waits waits = {0};
    struct probe_handlers h = handlers(r);
    if (mkdir(r->folder, 0700) || stat(r->folder, &st))
        return -errno;
    int rc = change(r, st.st_ino, r->want);
    if (!rc)
        rc = wait_inside(r->folder);
    if (!rc)
        rc = probe_take_waits(r->probe, &h, &waits);
    r->sums += waits.sums.n;
    probe_waits_free(&waits);
    int ended = change(r, st.st_ino, 0), removed = remove_cgroup(r->folder);
    return rc ? rc : ended ? ended : removed;
}

static int run(struct rounds *r, int n)
{
    int rc = 0;
    for (int i = 0; i < n && !rc; i++)
        rc = go_round(r);
    if (rc)
        fprintf(stderr, "attach: a round failed: %s\n", strerror(-rc));
    return rc;
}

/* ---- A wait that goes on ---- */

/* What a process waits for without end, what is wanted of it at first and later, and what is counted then. */
struct lasting {
    const char *name;
    bool in_futex;
    u32 first, later, flags;
};

/* Before that, it waits for a futex: a thread that never did would not be followed for `lock` alone. */
static pid_t begin_lasting(const char *folder, bool in_futex)
{
    u32 futex = 0;
    struct timespec soon = {0, 20000000};
    pid_t child = fork_inside(folder);
    if (child)
        return child;
    syscall(SYS_futex, &futex, FUTEX_WAIT, 0, &soon);
    for (;;)
        if (in_futex)
            syscall(SYS_futex, &futex, FUTEX_WAIT, 0, NULL);
        else
            pause();
}

/* Returns the ns that were counted since the last time with these flags, or -errno. */
static s64 take_lasting(struct rounds *r, u32 flags)
{
    struct probe_waits waits = {0};
    struct probe_handlers h = handlers(r);
    int rc = probe_take_waits(r->probe, &h, &waits);
    u64 ns = 0;
    for (size_t i = 0; i < waits.sums.n; i++)
        ns += waits.sums.v[i].key.flags == flags ? waits.sums.v[i].sum.ns : 0;
    probe_waits_free(&waits);
    return rc ? rc : (s64)ns;
}

static s64 count_lasting(struct rounds *r, const struct lasting *l, u64 cgroup)
{
    s64 ns = change(r, cgroup, XP_WANT(l->first, 1));
    pid_t child = ns ? -1 : begin_lasting(r->folder, l->in_futex);
    usleep(LASTING_MS * 1000);
    if (!ns)
        ns = change(r, cgroup, XP_WANT(l->later, 1));
    if (!ns)
        ns = take_lasting(r, l->flags); /* from now on it counts */
    usleep(LASTING_MS * 1000);
    ns = child < 0 ? -ECHILD : ns < 0 ? ns : take_lasting(r, l->flags);
    if (child > 0 && !kill(child, SIGKILL))
        waitpid(child, NULL, 0);
    return ns;
}

static int check_lasting(struct rounds *r, const struct lasting *l)
{
    struct stat st;
    if (mkdir(r->folder, 0700) || stat(r->folder, &st))
        return -errno;
    s64 ns = count_lasting(r, l, st.st_ino);
    int ended = change(r, st.st_ino, 0), removed = remove_cgroup(r->folder);
    double ratio = (double)ns / 1e6 / LASTING_MS;
    printf("attach %s wanted later, %.0f ms, %d ms, %.2f, 0.9 to 1.5, %s\n", l->name, (double)ns / 1e6, LASTING_MS,
           ratio, ratio > 0.9 && ratio < 1.5 ? "pass" : "fail");
    return ns < 0 ? (int)ns : ended ? ended : removed;
}

static int check_all_lasting(struct rounds *r)
{
    const struct lasting all[] = {{"offcpu", false, r->lock, r->lock | r->offcpu, 0},
                                  {"lock", true, r->offcpu, r->lock | r->offcpu, XP_WAIT_LOCKED}};
    int rc = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !rc; i++)
        rc = check_lasting(r, &all[i]);
    if (rc)
        fprintf(stderr, "attach: a wait that goes on: %s\n", strerror(-rc));
    return rc;
}

/* ---- All of them ---- */

static int start(struct rounds *r)
{
    struct probe_config c = {.target = XP_TARGET_CGROUP,
                             .cgroup_subsys = -1,
                             .kernel = true,
                             .user = true,
                             .table_bytes = 1 << 20,
                             .cgroup_files = 64};
    char why[512] = "";
    size_t n;
    const struct event_kind *kinds = event_kinds(&n);
    for (size_t i = 0; i < n && c.nevents < XP_MAX_EVENTS; i++) {
        if (kinds[i].probe.how == PROBE_PERF)
            continue;
        r->offcpu |= kinds[i].probe.how == PROBE_OFFCPU ? 1u << c.nevents : 0;
        r->lock |= kinds[i].probe.how == PROBE_LOCK ? 1u << c.nevents : 0;
        c.events[c.nevents++] = kinds[i].probe;
    }
    r->want = XP_WANT((1u << c.nevents) - 1, 1);
    int rc = probe_new(&r->probe, &c, why, sizeof(why));
    if (!rc)
        rc = probe_start(r->probe, why, sizeof(why));
    if (rc)
        fprintf(stderr, "attach: %s\n", why);
    return rc;
}

static void report(const struct rounds *r, int n, const struct state *before, const struct state *after)
{
    u64 x = before->descriptors + before->programs + before->maps + before->links;
    u64 y = after->descriptors + after->programs + after->maps + after->links;
    printf("attach objects, %lu after %d rounds, %lu, %.2f, equal, %s\n", y, n, x, (double)y / (double)x,
           y == x ? "pass" : "fail");
    printf("attach memory, %.1f MB, %.1f MB, %.2f, + 1 MB, %s\n", (double)after->rss_kib / 1e3,
           (double)before->rss_kib / 1e3, (double)after->rss_kib / (double)before->rss_kib,
           after->rss_kib < before->rss_kib + 1000 ? "pass" : "fail");
    printf("attach waits, %.1f a round, %d a round, %.2f, >= 1x, %s\n", (double)r->sums / n, 1, (double)r->sums / n,
           r->sums >= (u64)n ? "pass" : "fail");
    fprintf(stderr, "attach: %.0f ms a round to load, attach, detach and unload\n", (double)r->ns / 1e6 / n);
}

int main(int argc, char **argv)
{
    struct rounds r = {0};
    int n = argc > 1 ? atoi(argv[1]) : 100;
    const char *tree = access("/sys/fs/cgroup/unified", F_OK) ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified";
    snprintf(r.folder, sizeof(r.folder), "%s/xprof-attach-%d", tree, getpid());
    int rc = n < 1 ? -EINVAL : start(&r);
    if (!rc)
        rc = run(&r, n / 10 + 1);
    struct state before = look();
    r.ns = r.sums = 0;
    if (!rc)
        rc = run(&r, n);
    struct state after = look();
    if (!rc)
        report(&r, n, &before, &after);
    if (!rc)
        rc = check_all_lasting(&r);
    probe_free(&r.probe);
    return rc ? 1 : 0;
}
