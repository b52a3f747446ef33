/* Blocks in 40 call chains: each of eight kinds of waits by each of five ways, and prints "CHAIN ns" of its own clock
 * for each. chains_lib.c is built without frame pointers.   chains ROUNDS */
#define _GNU_SOURCE
#include "blocked.h"
#include "burn.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <search.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MS     4
#define LEVELS 40

void lib_call(void (*wait)(void), int depth); /* chains_lib.c */

static int pair[2], ready;

static struct timespec soon(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += MS * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* ---- Kinds of waits ---- */
static KEEP void on_sleep(void)
{
    nanosleep(&(struct timespec){0, MS * 1000000}, NULL);
}
static KEEP void on_poll(void)
{
    poll(NULL, 0, MS);
}
static KEEP void on_select(void)
{
    select(0, NULL, NULL, NULL, &(struct timeval){0, MS * 1000});
}
static KEEP void on_epoll(void)
{
    struct epoll_event e;
    epoll_wait(ready, &e, 1, MS);
}
static KEEP void on_socket(void)
{
    char c;
    recv(pair[0], &c, 1, 0); /* with a timeout */
}
static KEEP void on_signal(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigtimedwait(&none, NULL, &(struct timespec){0, MS * 1000000});
}
static KEEP void on_semaphore(void)
{
    sem_t s;
    struct timespec until = soon();
    sem_init(&s, 0, 0);
    sem_timedwait(&s, &until);
}
static KEEP void on_condition(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    struct timespec until = soon();
    pthread_mutex_lock(&m);
    pthread_cond_timedwait(&c, &m, &until);
    pthread_mutex_unlock(&m);
}

/* ---- Ways to them ---- */
static void (*chosen)(void);

static KEEP void way_straight(void)
{
    chosen();
}

static KEEP int compare(const void *x, const void *y)
{
    if (x != y)
        chosen();
    return 0;
}
static KEEP void way_sort(void)
{
    int two[2] = {2, 1};
    qsort(two, 2, sizeof(two[0]), compare);
}

static KEEP void way_library(void)
{
    lib_call(chosen, 5);
}

static KEEP int down(int n)
{
    if (n)
        return down(n - 1) + 1;
    chosen();
    return 0;
}
static KEEP void way_recursion(void)
{
    down(LEVELS);
}

static KEEP void handler(int number)
{
    chosen();
}
static KEEP void way_handler(void)
{
    raise(SIGUSR1);
}

static unsigned long total[40];

/* One function for each chain: it is the only one that says which it is. */
#define CHAIN(number, way, kind)                \
    static KEEP void chain_##way##_##kind(void) \
    {                                           \
        chosen = on_##kind;                     \
        unsigned long from = blocked_ns();      \
        way_##way();                            \
        total[number] += blocked_ns() - from;   \
    }
#define KINDS(X, first, way)  \
    X(first + 0, way, sleep)  \
    X(first + 1, way, poll)   \
    X(first + 2, way, select) \
    X(first + 3, way, epoll)  \
    X(first + 4, way, socket) X(first + 5, way, signal) X(first + 6, way, semaphore) X(first + 7, way, condition)
#define CHAINS(X) \
    KINDS(X, 0, straight) KINDS(X, 8, sort) KINDS(X, 16, library) KINDS(X, 24, recursion) KINDS(X, 32, handler)
CHAINS(CHAIN)

static const struct {
    const char *name;
    void (*call)(void);
} chains[] = {
#define ROW(number, way, kind) {#way "_" #kind, chain_##way##_##kind},
    CHAINS(ROW)};

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20, n = sizeof(chains) / sizeof(chains[0]);
    signal(SIGUSR1, handler);
    ready = epoll_create1(0);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){0, MS * 1000}, sizeof(struct timeval));
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < n; i++)
            chains[i].call();
    for (int i = 0; i < n; i++)
        printf("%s %lu\n", chains[i].name, total[i]);
    return 0;
}
