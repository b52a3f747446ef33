/* Waits that are ended by somebody who is known: for each kind, a function that sleeps and one that wakes up. Prints
 * per kind how long its sleeper was blocked, by its own clock: "KIND NS".
 */
#define _GNU_SOURCE
#include "blocked.h"
#include "burn.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES 50
#define MS    20

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready, orders[2]; /* signals that nobody has waited for so far; a pipe */

static KEEP void nap(void)
{
    nanosleep(&(struct timespec){0, MS * 1000000}, NULL);
    STAY;
}

static KEEP void read_order(void)
{
    char c;
    if (read(orders[0], &c, 1) != 1)
        exit(1);
    STAY;
}

static KEEP void write_order(void)
{
    if (write(orders[1], "x", 1) != 1)
        exit(1);
    STAY;
}

static KEEP void send_order(void)
{
    write_order();
    STAY;
}

static void begin_pipe(void)
{
    if (pipe(orders))
        exit(1);
    if (fork())
        return;
    prctl(PR_SET_NAME, "till");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < TIMES; i++) {
        nap();
        send_order();
    }
    _exit(0);
}

static KEEP void await_cond(void)
{
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_wait(&cond, &mutex);
    ready--;
    pthread_mutex_unlock(&mutex);
    STAY;
}

static KEEP void signal_cond(void)
{
    pthread_mutex_lock(&mutex);
    ready++;
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&cond);
    STAY;
}

static void *signaller(void *arg)
{
    for (int i = 0; i < TIMES; i++) {
        nap();
        signal_cond();
    }
    return arg;
}

static KEEP void begin_cond(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, signaller, NULL))
        exit(1);
}

static KEEP void await_child(void)
{
    if (wait(NULL) < 0)
        exit(1);
    STAY;
}

/* The time for the fork is not the sleeper's. */
static void fork_child(void)
{
    if (fork())
        return;
    prctl(PR_SET_NAME, "apprentice");
    nap();
    _exit(0);
}

static void none(void)
{
}

int main(void)
{
    static const struct {
        const char *name;
        void (*begin)(void), (*before)(void), (*sleep)(void);
    } kinds[] = {
        {"sleep", none, none, nap},
        {"pipe", begin_pipe, none, read_order},
        {"cond", begin_cond, none, await_cond},
        {"child", none, fork_child, await_child},
    };
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        unsigned long long all = 0;
        kinds[k].begin();
        for (int i = 0; i < TIMES; i++) {
            kinds[k].before();
            unsigned long long from = blocked_ns();
            kinds[k].sleep();
            all += blocked_ns() - from;
        }
        printf("%s %llu\n", kinds[k].name, all);
        fflush(stdout);
        if (kinds[k].begin == begin_pipe)
            wait(NULL);
    }
    return 0;
}
