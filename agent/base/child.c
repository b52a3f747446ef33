#include "base/child.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MAX_ARGS 8
#define LOOK_MS  250 /* between two looks at what a child does */

int child_open_self(void)
{
    int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Runs in the forked child. */
static _Noreturn void become(int exe, int socket, char **argv)
{
    char *no_environment[] = {NULL};
    setsid();
    if (fcntl(socket, F_SETFD, 0) == 0)
        syscall(SYS_execveat, exe, "", argv, no_environment, AT_EMPTY_PATH);
    _exit(127);
}

static pid_t fork_quietly(void)
{
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old); /* the parent's handlers must not run in the child */
    pid_t pid = fork();
    if (pid)
        sigprocmask(SIG_SETMASK, &old, NULL);
    return pid;
}

int child_start(int exe, const char *const argv[], struct child_process *out)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return -errno;
    AUTO_CLOSE int ours = pair[0];
    AUTO_CLOSE int theirs = pair[1];
    char number[16];
    char *args[MAX_ARGS + 1] = {NULL};
    snprintf(number, sizeof(number), "%d", theirs);
    for (size_t i = 0; i < MAX_ARGS && argv[i]; i++)
        args[i] = strcmp(argv[i], "%d") ? (char *)argv[i] : number;
    pid_t pid = fork_quietly();
    if (pid < 0)
        return -errno;
    if (!pid)
        become(exe, theirs, args);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) { /* not yet reaped by anybody, so the number is still its own */
        int rc = -errno;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return rc;
    }
    *out = (struct child_process){.pid = pid, .pidfd = pidfd, .socket = TAKE_FD(ours)};
    return 0;
}

/* Tells whether the process sleeps (proc_pid_stat(5)) without having used the CPU since the last look. Who is ready to
 * run waits for a CPU, not for a file. */
static bool is_idle(pid_t pid, uint64_t *last_cpu_ns)
{
    char path[32];
    AUTO_FREE char *text = NULL;
    clockid_t clock;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (clock_getcpuclockid(pid, &clock) || fs_read_file(path, 4096, &text, NULL))
        return false;
    const char *name_end = strrchr(text, ')');
    uint64_t cpu_ns = clock_ns(clock), before = *last_cpu_ns;
    *last_cpu_ns = cpu_ns;
    return cpu_ns == before && name_end && (!strncmp(name_end, ") S", 3) || !strncmp(name_end, ") D", 3));
}

static int wait_for(const struct child_process *c, unsigned timeout_ms, bool may_idle)
{
    uint64_t begin = now_ns(), deadline = begin + timeout_ms * 1000000ull, moved = begin;
    uint64_t cpu_ns = 0;
    for (;;) {
        uint64_t now = now_ns();
        int left = now < deadline ? (int)((deadline - now + 999999) / 1000000ull) : 0;
        struct pollfd p = {.fd = c->socket, .events = POLLIN};
        int r = poll(&p, 1, left < LOOK_MS ? left : LOOK_MS);
        if (r > 0)
            return 0;
        if (r < 0 && errno != EINTR)
            return -errno;
        if (now_ns() >= deadline)
            return -ETIMEDOUT;
        if (may_idle || !is_idle(c->pid, &cpu_ns))
            moved = now_ns();
        else if (now_ns() - moved >= CHILD_STUCK_MS * 1000000ull)
            return -EREMOTEIO;
    }
}

int child_wait(const struct child_process *c, unsigned timeout_ms)
{
    return wait_for(c, timeout_ms, false);
}

int child_wait_for_start(const struct child_process *c, unsigned timeout_ms)
{
    return wait_for(c, timeout_ms, true);
}

static uint64_t ns_of(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

uint64_t child_kill(struct child_process *c, int *left)
{
    siginfo_t info = {0};
    struct rusage used = {0}; /* that of waitid(2) itself; the C library's has none */
    if (!c->pid)
        return 0;
    AUTO_CLOSE int pidfd = c->pidfd;
    close(c->socket);
    *c = (struct child_process)CHILD_PROCESS_NONE;
    syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    while (poll(&end, 1, CHILD_KILL_MS) < 0 && errno == EINTR)
        ;
    syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED | WNOHANG, &used);
    if (left && !info.si_pid)
        *left = TAKE_FD(pidfd);
    return ns_of(&used.ru_utime) + ns_of(&used.ru_stime);
}

bool child_has_ended(int pidfd)
{
    siginfo_t info = {0};
    return waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) || info.si_pid;
}

void child_clock_start(struct child_clock *c, pid_t pid)
{
    __atomic_store_n(&c->pid, pid, __ATOMIC_SEQ_CST);
}

void child_clock_end(struct child_clock *c, uint64_t used_ns)
{
    __atomic_add_fetch(&c->ended_ns, used_ns, __ATOMIC_SEQ_CST);
    __atomic_store_n(&c->pid, 0, __ATOMIC_SEQ_CST);
}

/* What has ended is added before the child is gone from `pid`: who sees the same sum before and after has counted no
 * child twice, and who has missed one that is just ending reports the most that was known of it. */
uint64_t child_clock_ns(struct child_clock *c)
{
    uint64_t ended, now;
    do {
        struct timespec t = {0};
        clockid_t clock;
        ended = __atomic_load_n(&c->ended_ns, __ATOMIC_SEQ_CST);
        pid_t pid = __atomic_load_n(&c->pid, __ATOMIC_SEQ_CST);
        if (pid && !clock_getcpuclockid(pid, &clock))
            clock_gettime(clock, &t);
        now = ended + (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
    } while (ended != __atomic_load_n(&c->ended_ns, __ATOMIC_SEQ_CST));
    uint64_t most = __atomic_load_n(&c->most_ns, __ATOMIC_RELAXED);
    while (now > most &&
           !__atomic_compare_exchange_n(&c->most_ns, &most, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return now > most ? now : most;
}

uint64_t start_gate_wait(struct start_gate *g, uint64_t now)
{
    uint64_t burst = (START_BURST - 1) * START_EVERY_NS;
    if (g->next_ns < now)
        g->next_ns = now;
    uint64_t ahead = g->next_ns - now;
    g->next_ns += START_EVERY_NS;
    return ahead > burst ? ahead - burst : 0;
}

void start_gate_pass(struct start_gate *g)
{
    uint64_t wait = start_gate_wait(g, now_ns());
    struct timespec t = {.tv_sec = (time_t)(wait / NS_PER_SEC), .tv_nsec = (long)(wait % NS_PER_SEC)};
    if (wait)
        nanosleep(&t, NULL);
}
