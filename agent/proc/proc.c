#include "proc/proc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define STAT_MAX 4096

static int read_proc(u32 pid, const char *file, char **text)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
    return fs_read_file(path, 1 << 20, text, NULL);
}

int proc_parse_stat(const char *text, u32 *ppid, u64 *ticks)
{
    unsigned parent;
    unsigned long long utime, stime;
    const char *after = strrchr(text, ')'); /* the last one: comm may hold others */
    if (!after || sscanf(after, ") %*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &parent, &utime, &stime) != 3)
        return -EBADMSG;
    *ppid = parent;
    *ticks = utime + stime;
    return 0;
}

u64 proc_cpu_ticks(u32 pid)
{
    AUTO_FREE char *text = NULL;
    u32 ppid;
    u64 ticks = 0;
    if (!read_proc(pid, "stat", &text))
        proc_parse_stat(text, &ppid, &ticks);
    return ticks;
}

/* A number in /proc/PID/stat, which proc_pid_stat(5) numbers from 1; 0: it is not known. */
static u64 stat_field(u32 pid, int number)
{
    AUTO_FREE char *text = NULL;
    unsigned long long value = 0;
    if (read_proc(pid, "stat", &text))
        return 0;
    const char *at = strrchr(text, ')'); /* the second field's end */
    for (int field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    return at && sscanf(at, " %llu", &value) == 1 ? value : 0;
}

u64 proc_start_ticks(u32 pid)
{
    return stat_field(pid, 22);
}

bool proc_is(u32 pid, u64 start_ns)
{
    return proc_start_ticks(pid) == start_ns / (NS_PER_SEC / (u64)sysconf(_SC_CLK_TCK));
}

u64 proc_start_stack(u32 pid)
{
    return stat_field(pid, 28);
}

u32 proc_parent(u32 pid)
{
    return (u32)stat_field(pid, 4);
}

/* The sum of its switches, and its state; 0: it is not known. */
static u64 switches_of(u32 pid, u32 tid, char *state)
{
    AUTO_FREE char *text = NULL;
    char file[48];
    unsigned long long asked = 0, forced = 0;
    snprintf(file, sizeof(file), "task/%u/status", tid);
    if (read_proc(pid, file, &text))
        return 0;
    const char *line = strstr(text, "\nvoluntary_ctxt_switches:"), *is = strstr(text, "\nState:");
    if (!line || !is || sscanf(is, "\nState: %c", state) != 1 ||
        sscanf(line, "\nvoluntary_ctxt_switches: %llu nonvoluntary_ctxt_switches: %llu", &asked, &forced) != 2)
        return 0;
    return asked + forced;
}

u64 proc_switches(u32 pid, u32 tid)
{
    char state;
    return switches_of(pid, tid, &state);
}

bool proc_sleeps_since(u32 pid, u32 tid, u32 switches)
{
    char state;
    u64 now = switches_of(pid, tid, &state);
    return now && (u32)now == switches && state != 'R';
}

void proc_pids_free(proc_pids *p)
{
    vec_free(p);
}

int proc_thread(u32 pid, u32 tid, u32 *own, char name[PROC_COMM])
{
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *comm = NULL;
    char file[48];
    unsigned id = tid;
    snprintf(file, sizeof(file), "task/%u/status", tid);
    if (read_proc(pid, file, &text))
        return -ESRCH;
    snprintf(file, sizeof(file), "task/%u/comm", tid);
    if (read_proc(pid, file, &comm))
        return -ESRCH;
    const char *line = strstr(text, "\nNSpid:"); /* not without CONFIG_PID_NS */
    for (int at = 0, n = 0; line && sscanf(line + 7 + at, " %u%n", &id, &n) == 1 && n; at += n)
        if (line[7 + at + n] == '\n')
            break;
    memset(name, 0, PROC_COMM);
    memcpy(name, comm, strnlen(comm, PROC_COMM - 1));
    name[strcspn(name, "\n")] = 0;
    *own = id;
    return 0;
}

int proc_threads(u32 pid, size_t max, proc_pids *out)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/task", pid);
    DIR *dir = opendir(path);
    if (!dir)
        return -ESRCH;
    for (struct dirent *d; max && (d = readdir(dir));) {
        u32 tid = (u32)strtoul(d->d_name, NULL, 10), *place = tid ? VEC_PUSH(out) : NULL;
        if (!place)
            continue;
        *place = tid;
        max--;
    }
    closedir(dir);
    return 0;
}

int proc_tgid(u32 pid, u32 *tgid)
{
    AUTO_FREE char *text = NULL;
    unsigned id;
    if (read_proc(pid, "status", &text))
        return -ESRCH;
    const char *line = strstr(text, "\nTgid:");
    if (!line || sscanf(line, "\nTgid: %u", &id) != 1)
        return -ESRCH;
    *tgid = id;
    return 0;
}

bool proc_alive(u32 tgid)
{
    AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, (pid_t)tgid, 0);
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    if (fd < 0)
        return errno != ESRCH;
    return poll(&ended, 1, 0) == 0;
}

struct parent_of {
    u32 pid, ppid;
};
typedef VEC(struct parent_of) parents;

static int read_parents(parents *all)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return -errno;
    for (struct dirent *e; (e = readdir(proc));) {
        AUTO_FREE char *text = NULL;
        u64 ticks;
        u32 pid = (u32)strtoul(e->d_name, NULL, 10), ppid;
        if (!pid || read_proc(pid, "stat", &text) || proc_parse_stat(text, &ppid, &ticks))
            continue;
        struct parent_of *p = VEC_PUSH(all);
        if (p)
            *p = (struct parent_of){pid, ppid};
    }
    closedir(proc);
    return 0;
}

static bool contains(const proc_pids *pids, u32 pid)
{
    for (size_t i = 0; i < pids->n; i++)
        if (pids->v[i] == pid)
            return true;
    return false;
}

int proc_add_descendants(proc_pids *pids)
{
    parents all = {0};
    int rc = read_parents(&all);
    for (size_t found = 1; !rc && found;) { /* until a pass over all processes adds nobody */
        found = 0;
        for (size_t i = 0; i < all.n; i++) {
            if (!contains(pids, all.v[i].ppid) || contains(pids, all.v[i].pid))
                continue;
            u32 *p = VEC_PUSH(pids);
            if (p)
                *p = all.v[i].pid, found++;
        }
    }
    vec_free(&all);
    return rc;
}

/* The name behind a /proc link, without " (deleted)"; owned. */
static int read_name(const char *link, char **path)
{
    static const char deleted[] = " (deleted)";
    char target[PATH_MAX + 16];
    ssize_t n = readlink(link, target, sizeof(target) - 1);
    if (n < 0)
        return -errno;
    target[n] = 0;
    size_t tail = sizeof(deleted) - 1;
    if ((size_t)n > tail && !strcmp(target + n - tail, deleted))
        target[(size_t)n - tail] = 0;
    char *copy = strdup(target);
    if (!copy)
        return -ENOMEM;
    *path = copy;
    return 0;
}

int proc_open(u32 pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int proc_open_mapping(u32 pid, u64 start, u64 end, char **path)
{
    char link[96];
    struct stat st;
    snprintf(link, sizeof(link), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)start,
             (unsigned long long)end);
    AUTO_CLOSE int fd = open(link, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = fs_stat(fd, &st);
    if (!rc && !S_ISREG(st.st_mode)) /* a device may be mapped there */
        rc = -ENOEXEC;
    if (!rc)
        rc = read_name(link, path);
    return rc ? rc : TAKE_FD(fd);
}

int proc_vdso(void)
{
    const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
    AUTO_FREE char *maps = NULL;
    unsigned long lo = 0, hi = 0;
    if (!image || fs_read_file("/proc/self/maps", 1 << 22, &maps, NULL))
        return -ENOENT;
    for (const char *line = maps; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0)
        if (sscanf(line, "%lx-%lx", &lo, &hi) == 2 && lo == (unsigned long)image)
            break;
    if (lo != (unsigned long)image)
        return -ENOENT;
    AUTO_CLOSE int fd = fs_sealed_memfd("vdso", image, hi - lo);
    if (fd < 0)
        return fd;
    return fs_open_regular(fd);
}
