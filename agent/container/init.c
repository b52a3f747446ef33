#include "container/init.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_AT   64 /* processes of a cgroup */
#define PROCS_MAX 4096

u32 init_parse_nspid(const char *status)
{
    const char *line = strstr(status, "\nNSpid:");
    u32 last = 0;
    if (!line)
        return 0;
    for (const char *p = line + 7; *p && *p != '\n';) {
        char *end;
        unsigned long v = strtoul(p, &end, 10);
        if (end == p)
            break;
        last = (u32)v;
        p = end;
    }
    return last;
}

int init_parse_stat(const char *stat, u64 *start, u32 *parent)
{
    unsigned ppid;
    unsigned long long ticks;
    const char *after = strrchr(stat, ')'); /* comm may hold any */
    if (!after || sscanf(after, ") %*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                         &ppid, &ticks) != 2)
        return -EBADMSG;
    *start = ticks;
    *parent = ppid;
    return 0;
}

static int read_proc(u32 pid, const char *file, char **text)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
    return fs_read_file(path, 1 << 16, text, NULL);
}

static int open_root(u32 pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/root", pid);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Is this directory the root of process `pid`, too? */
static bool is_root_of(int fd, u32 pid)
{
    struct stat ours, its;
    AUTO_CLOSE int other = open_root(pid);
    return other >= 0 && !fs_stat(fd, &ours) && !fs_stat(other, &its) && ours.st_dev == its.st_dev &&
           ours.st_ino == its.st_ino;
}

static u64 pid_namespace(u32 pid)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
    return stat(path, &st) ? 0 : st.st_ino;
}

static int read_start(u32 pid, u64 *start, u32 *parent)
{
    AUTO_FREE char *stat = NULL;
    return read_proc(pid, "stat", &stat) || init_parse_stat(stat, start, parent) ? -ENOENT : 0;
}

int init_of_process(struct init *out, u32 pid)
{
    struct init in = {.pid = pid};
    u32 parent;
    u64 start;
    if (read_start(pid, &in.start, &parent))
        return -ENOENT;
    AUTO_CLOSE int root = open_root(pid);
    /* The parent is the runtime's watcher, a process of the host, for where /proc/1 is closed to us. */
    if (root >= 0 && (is_root_of(root, 1) || (parent && is_root_of(root, parent))))
        return -EAGAIN;
    in.pid_ns = pid_namespace(pid);
    if (read_start(pid, &start, &parent) || start != in.start) /* the number is another process's meanwhile */
        return -ENOENT;
    *out = in;
    return 0;
}

/* The one that is 1 in its namespace, else the one that started first. */
static u32 choose(const char *procs)
{
    u32 oldest = 0, parent;
    u64 first = ~0ull, start;
    char *end;
    for (int i = 0; i < LOOK_AT; i++, procs = end) {
        AUTO_FREE char *status = NULL;
        u32 pid = (u32)strtoul(procs, &end, 10);
        if (end == procs)
            break;
        if (!pid || read_proc(pid, "status", &status) || read_start(pid, &start, &parent))
            continue;
        if (init_parse_nspid(status) == 1)
            return pid;
        if (start < first) {
            first = start;
            oldest = pid;
        }
    }
    return oldest;
}

int init_find(struct init *out, const struct hierarchy *h, const char *path)
{
    char file[sizeof(h->mount) + PROCS_MAX], procs[PROCS_MAX] = "";
    snprintf(file, sizeof(file), "%s%s/cgroup.procs", h->mount, path);
    AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t r = fd < 0 ? -1 : read(fd, procs, sizeof(procs) - 1);
    if (r <= 0)
        return -ENOENT;
    u32 pid = choose(procs);
    return pid ? init_of_process(out, pid) : -ENOENT;
}
