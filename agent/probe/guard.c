/* A process that outlives this one if this one is killed. It continues what was stopped (bpf/mapped.bpf.h): nobody else
 * would. And it closes the links of uprobes, many at once: a process that dies closes one after the other, and each
 * waits for tens of milliseconds. For that it shares the table of descriptors, which it must not use before.
 */
#include "base/cleanup.h"
#include "probe/kinds.h"
#include "probe/probe_internal.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLOSERS  64
#define ROUNDS   5 /* programs may stop one more while they go */
#define PAUSE_US 100000

struct guarded {
    int held[XP_MAX_EVENTS]; /* maps of what may be stopped, by tgid */
    unsigned n;
    int parent; /* its pidfd */
};

static void continue_all(const struct guarded *g)
{
    for (unsigned i = 0; i < g->n; i++) {
        u32 tgid;
        for (int rc = bpf_map_get_next_key(g->held[i], NULL, &tgid); !rc;
             rc = bpf_map_get_next_key(g->held[i], &tgid, &tgid))
            kill((pid_t)tgid, SIGCONT);
    }
}

static bool is_needed(const struct guarded *g, int fd)
{
    for (unsigned i = 0; i < g->n; i++)
        if (g->held[i] == fd)
            return true;
    return false;
}

/* Neither library functions that take locks nor its handlers: other threads may have held some at that moment. */
static pid_t fork_sharing_files(void)
{
    return (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
}

/* How large the table of descriptors is. */
static int table_size(void)
{
    char status[4096];
    AUTO_CLOSE int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, status, sizeof(status) - 1);
    status[n > 0 ? n : 0] = 0;
    const char *size = strstr(status, "\nFDSize:\t");
    return size ? atoi(size + 9) : 65536;
}

static void close_all(const struct guarded *g)
{
    int size = table_size();
    for (int i = 0; i < CLOSERS; i++) {
        if (fork_sharing_files())
            continue;
        for (int fd = i; fd < size; fd += CLOSERS)
            if (!is_needed(g, fd))
                close(fd);
        _exit(0);
    }
}

static bool all_have_ended(void)
{
    pid_t one;
    while ((one = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return one < 0;
}

static void guard(const struct guarded *g)
{
    struct pollfd end = {.fd = g->parent, .events = POLLIN};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "xprof-guard");
    while (poll(&end, 1, -1) != 1)
        ;
    close_all(g);
    for (unsigned i = 0; i < ROUNDS || !all_have_ended(); i++) {
        continue_all(g);
        usleep(PAUSE_US);
    }
    _exit(0);
}

static void find_held(const struct probe *p, struct guarded *g)
{
    for (size_t e = 0; e < p->config.nevents && p->config.heap_hold; e++) {
        struct bpf_object *object = uprobes_object(p, e);
        int held = object ? bpf_object__find_map_fd_by_name(object, "heap_held") : -1;
        if (held >= 0)
            g->held[g->n++] = held;
    }
}

static int start(struct probe *p)
{
    struct guarded g = {0};
    find_held(p, &g);
    g.parent = p->guard_pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (g.parent < 0)
        return -errno;
    p->guard = fork_sharing_files();
    if (!p->guard)
        guard(&g);
    return p->guard < 0 ? -errno : 0;
}

int guard_start(struct probe *p)
{
    int rc = 0;
    pthread_mutex_lock(&p->guarding);
    if (!p->guard)
        rc = start(p);
    pthread_mutex_unlock(&p->guarding);
    return rc;
}

void guard_end(struct probe *p)
{
    if (p->guard > 0 && !kill(p->guard, SIGKILL))
        waitpid(p->guard, NULL, 0);
    p->guard = 0;
    xp_cleanup_close(&p->guard_pidfd);
    p->guard_pidfd = -1;
}
