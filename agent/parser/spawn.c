#include "parser/spawn.h"
#include "base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MAX_ARGS 8

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

static uint64_t ns_of(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

uint64_t child_kill(struct child_process *c)
{
    siginfo_t info;
    struct rusage used = {0}; /* that of waitid(2) itself; the C library's has none */
    if (!c->pid)
        return 0;
    close(c->socket);
    syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
    while (syscall(SYS_waitid, P_PIDFD, c->pidfd, &info, WEXITED, &used) && errno == EINTR)
        ;
    close(c->pidfd);
    *c = (struct child_process)CHILD_PROCESS_NONE;
    return ns_of(&used.ru_utime) + ns_of(&used.ru_stime);
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
