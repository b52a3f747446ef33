/* Waits of each kind, three of 30 ms, each from a function of its own. What has no timeout is ended by a child. */
#define _GNU_SOURCE
#include "burn.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 30
static const struct timespec SOON = {0, MS * 1000000};

/* In a child: true, after a while; in the parent false, at once. */
static int later(void)
{
    if (fork())
        return 0;
    usleep(MS * 1000);
    return 1;
}

/* A child writes to an end. */
static void write_later(int fd)
{
    if (later()) {
        unsigned long one = 1;
        _exit(write(fd, &one, 8) != 8);
    }
}

static KEEP void in_sleep(void)
{
    nanosleep(&SOON, NULL);
}

static KEEP void in_poll(void)
{
    poll(NULL, 0, MS);
}

static KEEP void in_epoll(void)
{
    struct epoll_event e;
    int fd = epoll_create1(0);
    epoll_wait(fd, &e, 1, MS);
    close(fd);
}

static KEEP void in_futex(void)
{
    static int word;
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, &SOON, NULL, 0);
}

static KEEP void in_pipe(void)
{
    int end[2];
    char c[8];
    if (pipe(end))
        exit(1);
    write_later(end[1]);
    if (read(end[0], c, 8) != 8)
        exit(1);
    close(end[0]);
    close(end[1]);
}

static KEEP void in_unix(void)
{
    int end[2];
    char c;
    struct timeval t = {0, MS * 1000};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, end) || setsockopt(end[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)))
        exit(1);
    recv(end[0], &c, 1, 0);
    close(end[0]);
    close(end[1]);
}

static KEEP void in_accept(void)
{
    struct timeval t = {0, MS * 1000};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (listen(fd, 1) || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)))
        exit(1);
    accept(fd, NULL, NULL);
    close(fd);
}

static KEEP void in_child(void)
{
    pid_t child = fork();
    if (!child) {
        usleep(MS * 1000);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static KEEP void in_vfork(void)
{
    if (!vfork()) {
        usleep(MS * 1000);
        _exit(0);
    }
}

static KEEP void in_signal(void)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    sigtimedwait(&s, NULL, &SOON);
}

static KEEP void in_stop(void)
{
    pid_t self = getpid();
    if (later())
        _exit(kill(self, SIGCONT));
    raise(SIGSTOP);
}

static KEEP void in_timer(void)
{
    unsigned long n;
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(fd, 0, &(struct itimerspec){.it_value = SOON}, NULL);
    if (read(fd, &n, 8) != 8)
        exit(1);
    close(fd);
}

static KEEP void in_event(void)
{
    unsigned long n;
    int fd = eventfd(0, 0);
    write_later(fd);
    if (read(fd, &n, 8) != 8)
        exit(1);
    close(fd);
}

static KEEP void in_inotify(void)
{
    char path[] = "/tmp/xprof-waits-XXXXXX", event[4096];
    int file = mkstemp(path), fd = inotify_init1(0);
    inotify_add_watch(fd, path, IN_MODIFY);
    write_later(file);
    if (read(fd, event, sizeof(event)) <= 0)
        exit(1);
    unlink(path);
    close(fd);
    close(file);
}

/* A child has the lock, and says so. */
static KEEP void in_flock(void)
{
    char path[] = "/tmp/xprof-waits-XXXXXX", c;
    int file = mkstemp(path), end[2];
    if (pipe(end))
        exit(1);
    if (!fork()) {
        int own = open(path, O_RDWR);
        if (flock(own, LOCK_EX) || write(end[1], "", 1) != 1)
            _exit(1);
        usleep(MS * 1000);
        _exit(0);
    }
    if (read(end[0], &c, 1) != 1 || flock(file, LOCK_EX))
        exit(1);
    unlink(path);
    close(file);
    close(end[0]);
    close(end[1]);
}

static KEEP void in_message(void)
{
    struct {
        long type;
        char text[8];
    } m = {1, ""};
    int queue = msgget(IPC_PRIVATE, 0600);
    if (later())
        _exit(msgsnd(queue, &m, 8, 0));
    if (msgrcv(queue, &m, 8, 0, 0) < 0)
        exit(1);
    msgctl(queue, IPC_RMID, NULL);
}

static KEEP void in_terminal(void)
{
    char line[16];
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (grantpt(master) || unlockpt(master))
        exit(1);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (later())
        _exit(write(master, "x\n", 2) != 2);
    if (read(terminal, line, sizeof(line)) <= 0)
        exit(1);
    close(terminal);
    close(master);
}

/* Another thread changes the address space all the time, by unmapping what takes long to unmap. */
static volatile int busy;
static void *unmap_much(void *arg)
{
    size_t size = 256 << 20;
    while (busy) {
        void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        munmap(p, size);
    }
    return arg;
}
static KEEP void in_kernel_lock(void)
{
    pthread_t t;
    busy = 1;
    pthread_create(&t, NULL, unmap_much, NULL);
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    do {
        void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(p, 4096);
        clock_gettime(CLOCK_MONOTONIC, &t1);
    } while (t1.tv_sec * 1000 + t1.tv_nsec / 1000000 < t0.tv_sec * 1000 + t0.tv_nsec / 1000000 + 300);
    busy = 0;
    pthread_join(t, NULL);
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        in_sleep();
        in_poll();
        in_epoll();
        in_futex();
        in_pipe();
        in_unix();
        in_accept();
        in_child();
        in_vfork();
        in_signal();
        in_stop();
        in_timer();
        in_event();
        in_inotify();
        in_flock();
        in_message();
        in_terminal();
    }
    in_kernel_lock();
    return 0;
}
