#include "cli/record/pod_file.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "container/containers.h"
#include "proc/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATIENCE  (5 * NS_PER_SEC) /* until the runtime has told the names of all containers */
#define TICK_NS   20000000
#define NEAR_NAME 64

/* ---- Its name ---------------------------------------------------------------------------------------------------- */

/* Takes what is before `end`, and moves beyond that. */
static bool take(const char **at, char end, char *out, size_t size)
{
    const char *stop = strchr(*at, end);
    size_t n = stop ? (size_t)(stop - *at) : 0;
    if (!n || n >= size)
        return false;
    memcpy(out, *at, n);
    out[n] = 0;
    *at = stop + 1;
    return true;
}

int pod_file_split(const char *text, struct pod_file *out)
{
    if (!take(&text, '/', out->namespace_, sizeof(out->namespace_)) || !take(&text, '/', out->pod, sizeof(out->pod)) ||
        !take(&text, ':', out->container, sizeof(out->container)) || text[0] != '/' || strchr(out->container, '/'))
        return -EINVAL;
    out->path = text;
    return 0;
}

/* ---- Its container ----------------------------------------------------------------------------------------------- */

static void add_near(struct pod_search *s, const char *name)
{
    size_t n = strlen(s->near);
    for (const char *c = name; *c; c++)
        if (*c <= ' ' || *c > '~')
            return;
    if (name[0] && strlen(name) < NEAR_NAME && n + strlen(name) + 2 < sizeof(s->near))
        snprintf(s->near + n, sizeof(s->near) - n, "%s%s", n ? " " : "", name);
}

bool pod_file_match(void *ctx, const struct container *c)
{
    struct pod_search *s = ctx;
    const struct pod_file *w = s->wanted;
    if (c->is.kind != CGROUP_CONTAINER || c->sandbox || c->state == CONTAINER_ENDED ||
        strcmp(c->namespace_, w->namespace_) != 0 || strcmp(c->pod, w->pod) != 0)
        return true;
    if (strcmp(c->name, w->container) != 0) {
        add_near(s, c->name);
        return true;
    }
    s->pid = c->init_pid;
    s->start = c->init_start;
    return !s->pid;
}

static void explain(const struct pod_search *s, const struct containers *c, char *why, size_t len)
{
    const struct pod_file *w = s->wanted;
    struct containers_stats stats;
    containers_stats(c, &stats);
    int n = snprintf(why, len, "pod:%s/%s/%s: no such container runs here", w->namespace_, w->pod, w->container);
    if (n < 0 || (size_t)n >= len)
        return;
    if (s->near[0])
        snprintf(why + n, len - (size_t)n, "; containers of the pod: %s", s->near);
    else if (!stats.last_ok_ns)
        snprintf(why + n, len - (size_t)n, " that is known: %s", stats.why[0] ? stats.why : "there is no runtime");
}

/* Waits for the runtime, but not for long. */
static int search(struct containers *c, struct pod_search *s, char *why, size_t len)
{
    u64 start = now_ns();
    struct containers_stats stats = {0};
    do {
        containers_tick(c, now_ns());
        s->near[0] = 0;
        containers_all(c, pod_file_match, s);
        containers_stats(c, &stats);
        if (s->pid)
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
    } while (now_ns() - start < PATIENCE && !(stats.last_ok_ns && !stats.unnamed && now_ns() - start > NS_PER_SEC));
    explain(s, c, why, len);
    return -ENOENT;
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

/* A number may be another process's by now, which has started later. */
static int open_in(const struct pod_search *s, int *container, char *why, size_t len)
{
    const struct pod_file *f = s->wanted;
    char root[64];
    snprintf(root, sizeof(root), "/proc/%u/root", s->pid);
    AUTO_CLOSE int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int rc = dir < 0 ? -errno : proc_start_ticks(s->pid) != s->start ? -ESRCH : 0;
    AUTO_CLOSE int fd = rc ? rc : fs_open_in_root(dir, f->path, O_RDONLY);
    if (fd < 0)
        snprintf(why, len, "pod:%s/%s/%s:%s: %s", f->namespace_, f->pod, f->container, f->path, strerror(-fd));
    if (fd < 0)
        return fd;
    *container = TAKE_FD(dir);
    return TAKE_FD(fd);
}

int pod_file_open(const struct pod_file *f, const char *socket, int *root, char *why, size_t len)
{
    struct pod_search s = {.wanted = f};
    struct containers_config config = {.cri_socket = socket};
    struct containers_handlers handlers = {0};
    CLEANUP(containers_free) struct containers *c = NULL;
    int rc = hierarchy_find(&config.hierarchy, NULL);
    if (!rc)
        rc = containers_new(&c, &config, &handlers);
    if (rc)
        snprintf(why, len, "containers cannot be listed: %s", strerror(-rc));
    else
        rc = search(c, &s, why, len);
    return rc ? rc : open_in(&s, root, why, len);
}
