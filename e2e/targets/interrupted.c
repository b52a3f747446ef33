/* Waits after which the thread does not go on where it waited, in each of the ways below for 400 ms or more. Prints
 * "FUNCTION ns" of its own clock for each; of a process that is killed, of its parent's.   interrupted */
#define _GNU_SOURCE
#include "blocked.h"
#include "burn.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS     1000000ull
#define BLOCK  65536 /* what a pipe holds */
#define BLOCKS 64

static int ends[2];
static unsigned long long in_handler;

static void nap(unsigned long long ms)
{
    nanosleep(&(struct timespec){0, (long)(ms * MS)}, NULL);
}

/* A handler that waits itself, on top of the wait that it interrupts. */
static KEEP void handler(int sig)
{
    unsigned long long began = blocked_ns();
    poll(NULL, 0, 4);
    in_handler += blocked_ns() - began;
}

static void each(int ms)
{
    struct itimerval every = {{0, ms * 1000}, {0, ms * 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
}

static void handle(int flags)
{
    struct sigaction sa = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGALRM, &sa, NULL);
}

/* The wait ends by a signal, again and again. */
static KEEP void way_interrupted(void)
{
    handle(0);
    each(12);
    for (int i = 0; i < 50; i++)
        nap(100);
    each(0);
}

/* Another process, for its parent's ways. Its waits are none of theirs. */
static pid_t helper(void (*help)(void))
{
    pid_t pid = fork();
    if (!pid) {
        help();
        _exit(0);
    }
    return pid;
}
static KEEP void write_late(void)
{
    char c = 0;
    for (int i = 0; i < 6; i++)
        nap(100);
    if (write(ends[1], &c, 1) != 1)
        _exit(1);
}
static KEEP void read_slowly(void)
{
    static char block[BLOCK];
    for (int i = 0; i < BLOCKS; i++) {
        nap(6);
        for (ssize_t have = 0, n; have < BLOCK; have += n)
            if ((n = read(ends[0], block, (size_t)(BLOCK - have))) <= 0)
                _exit(1);
    }
}

/* The kernel begins the wait anew after each signal: only the last one ends by what it waited for. */
static KEEP void way_restarted(void)
{
    char c;
    handle(SA_RESTART);
    each(12);
    while (read(ends[0], &c, 1) < 0 && errno == EINTR)
        continue;
    each(0);
}

/* The kernel waits many times in one system call. */
static KEEP void way_repeated(void)
{
    static char blocks[BLOCKS * BLOCK];
    if (write(ends[1], blocks, sizeof(blocks)) != sizeof(blocks))
        perror("write");
}

/* The process is killed, or begins to run another program. */
static KEEP void way_killed(void)
{
    nap(400);
}
static KEEP void way_replaced(void)
{
    unsigned long long began = blocked_ns();
    for (int i = 0; i < 4; i++)
        nap(100);
    printf("way_replaced %llu\n", blocked_ns() - began);
    execl("/proc/self/exe", "interrupted", "done", NULL);
}

static void in_child(void (*way)(void))
{
    pid_t child = fork();
    if (!child) {
        way();
        _exit(1);
    }
    waitpid(child, NULL, 0);
}
static void kill_child(void)
{
    unsigned long long began = blocked_ns();
    pid_t child = fork();
    if (!child) {
        way_killed();
        _exit(1);
    }
    nap(350);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    printf("way_killed %llu\n", blocked_ns() - began);
}

static void in_here(const char *name, void (*way)(void), void (*help)(void))
{
    pid_t other = help ? helper(help) : 0;
    unsigned long long began = blocked_ns();
    in_handler = 0;
    way();
    printf("%s %llu\n", name, blocked_ns() - began - in_handler);
    if (in_handler)
        printf("%s.*;handler %llu\n", name, in_handler);
    if (other)
        waitpid(other, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 || pipe(ends))
        return argc < 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    in_here("way_interrupted", way_interrupted, NULL);
    in_here("way_restarted", way_restarted, write_late);
    in_here("way_repeated", way_repeated, read_slowly);
    kill_child();
    in_child(way_replaced);
    return 0;
}
