/* Threads that contend for locks: in .bss of the program, in memory of malloc, in .bss of a library (locks_library.c),
 * and one that nobody else takes. `locks ROUNDS` waits for a byte or the end of its input, and prints for each: NAME
 * WAITS NS, where NS is the time by the clock that pthread_mutex_lock took whenever pthread_mutex_trylock had failed.
 * The lock is held by a thread called NAME; that in memory of malloc is a robust mutex. `locks stuck` waits for ever,
 * `locks stuck-timed` for an hour. */
#define _GNU_SOURCE
#include "burn.h"
#include <err.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000

struct contended {
    const char *name;
    long hold_ms;
    pthread_mutex_t *mutex;
    void (*take)(struct contended *);
    pthread_barrier_t begin;
    long waits, ns;
};

static struct {
    char before[8192]; /* beyond the pages of .data */
    pthread_mutex_t own, alone;
} in_bss;
extern pthread_mutex_t locks_in_library;
static long rounds;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void nap(long ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, NULL);
}

static inline __attribute__((always_inline)) void take(struct contended *c)
{
    if (pthread_mutex_trylock(c->mutex)) {
        long from = now();
        pthread_mutex_lock(c->mutex);
        c->ns += now() - from;
        c->waits++;
    }
    pthread_mutex_unlock(c->mutex);
}

static KEEP void take_static(struct contended *c)
{
    take(c);
    STAY;
}
static KEEP void take_heap(struct contended *c)
{
    take(c);
    STAY;
}
static KEEP void take_library(struct contended *c)
{
    take(c);
    STAY;
}
static KEEP void take_alone(struct contended *c)
{
    take(c);
    STAY;
}

static void *hold(void *arg)
{
    struct contended *c = arg;
    pthread_setname_np(pthread_self(), c->name);
    pthread_barrier_wait(&c->begin);
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(c->mutex);
        pthread_barrier_wait(&c->begin);
        nap(c->hold_ms * MS);
        pthread_mutex_unlock(c->mutex);
        pthread_barrier_wait(&c->begin);
    }
    return NULL;
}

static void *contend(void *arg)
{
    struct contended *c = arg;
    pthread_barrier_wait(&c->begin);
    for (long i = 0; i < rounds; i++) {
        pthread_barrier_wait(&c->begin);
        c->take(c);
        pthread_barrier_wait(&c->begin);
    }
    return NULL;
}

/* Waits for a lock that is never released. */
static void *stick(void *arg)
{
    struct contended *c = arg;
    pthread_mutex_lock(c->mutex);
    pthread_barrier_wait(&c->begin);
    for (;;)
        nap(1000L * MS);
}

static KEEP void take_timed(struct contended *c)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 3600;
    pthread_mutex_timedlock(c->mutex, &t);
    STAY;
}

static void be_stuck(bool timed)
{
    struct contended c = {.name = "static", .mutex = &in_bss.own};
    pthread_t thread;
    pthread_barrier_init(&c.begin, NULL, 2);
    if (pthread_create(&thread, NULL, stick, &c))
        errx(2, "pthread_create");
    pthread_setname_np(thread, c.name);
    pthread_barrier_wait(&c.begin);
    timed ? take_timed(&c) : take_static(&c);
}

static void make_robust(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &robust);
}

int main(int argc, char **argv)
{
    pthread_mutex_t *heap = malloc(sizeof(*heap));
    struct contended all[] = {
        {.name = "static", .hold_ms = 10, .mutex = &in_bss.own, .take = take_static},
        {.name = "heap", .hold_ms = 20, .mutex = heap, .take = take_heap},
        {.name = "library", .hold_ms = 30, .mutex = &locks_in_library, .take = take_library},
    };
    struct contended alone = {.name = "alone", .mutex = &in_bss.alone, .take = take_alone};
    enum { N = sizeof(all) / sizeof(*all) };
    pthread_t threads[2 * N];
    if (argc != 2 || !heap)
        errx(2, "ROUNDS");
    if (!strncmp(argv[1], "stuck", 5))
        be_stuck(!strcmp(argv[1], "stuck-timed"));
    rounds = atol(argv[1]);
    getchar();
    make_robust(heap);
    for (int i = 0; i < N; i++) {
        pthread_barrier_init(&all[i].begin, NULL, 2);
        if (pthread_create(&threads[2 * i], NULL, hold, &all[i]) ||
            pthread_create(&threads[2 * i + 1], NULL, contend, &all[i]))
            errx(2, "pthread_create");
    }
    for (long i = 0; i < rounds; i++) {
        alone.take(&alone);
        nap(MS);
    }
    for (int i = 0; i < 2 * N; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N; i++)
        printf("%s %ld %ld\n", all[i].name, all[i].waits, all[i].ns);
    printf("%s %ld %ld\n", alone.name, alone.waits, alone.ns);
    free(heap);
    return in_bss.before[0];
}
