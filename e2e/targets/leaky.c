/* A server that leaks slowly, beside much that comes and goes, and what is large, grows and shrinks, or comes once.
 *
 *     leaky SECONDS LEAK CHURN    LEAK, CHURN: bytes per second
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEEP(p) __asm__ volatile("" ::"r"(p) : "memory")

enum { BLOCK = 2000, TEETH = 4096, SESSIONS = 1024, STEP_US = 1000 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline)) static void leak(void)
{
    void *p = malloc(BLOCK);
    KEEP(p);
}

/* Blocks of all sizes, touched and freed at once. */
__attribute__((noinline)) static size_t churn(unsigned i)
{
    size_t size = (size_t)1024 << i % 6;
    char *p = malloc(size);
    memset(p, 1, size);
    KEEP(p);
    free(p);
    return size;
}

/* A cache that grows for some seconds, and is emptied then. */
__attribute__((noinline)) static void grow_and_shrink(double now)
{
    static void *blocks[TEETH];
    static size_t n;
    static double emptied;
    emptied = emptied ? emptied : now;
    if (now - emptied > 4 || n == TEETH) {
        while (n)
            free(blocks[--n]);
        emptied = now;
    }
    blocks[n++] = malloc(20000);
    KEEP(blocks);
}

/* Sessions that live for about as long as one another: as many end as begin. */
__attribute__((noinline)) static void serve(unsigned i)
{
    static void *sessions[SESSIONS];
    free(sessions[i % SESSIONS]);
    sessions[i % SESSIONS] = malloc(30000);
    KEEP(sessions);
}

__attribute__((noinline)) static void begin(void)
{
    void *p = malloc(50 << 20);
    KEEP(p);
    for (int i = 0; i < 1000; i++) {
        p = malloc(10000);
        KEEP(p);
    }
}

struct load {
    double from, until, churn;
};

static void *work(void *ctx)
{
    const struct load *l = ctx;
    double moved = 0;
    for (unsigned i = 0;; i++) {
        double now = seconds();
        if (now > l->until)
            return NULL;
        if (moved < l->churn * (now - l->from))
            moved += (double)churn(i);
        else
            usleep(STEP_US);
    }
}

int main(int argc, char **argv)
{
    double from = seconds(), leaked = 0;
    if (argc < 4)
        return 2;
    double until = from + atof(argv[1]), rate = atof(argv[2]);
    struct load l = {from, until, atof(argv[3]) / 2};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work, &l))
            return 1;
    begin();
    unsigned i = 0;
    for (double now = from; now < until; now = seconds(), i++) {
        for (; leaked < rate * (now - from); leaked += BLOCK)
            leak();
        if (i % 8 == 0)
            grow_and_shrink(now);
        if (i % 4 == 0)
            serve(i / 4);
        usleep(STEP_US);
    }
    for (int k = 0; k < 2; k++)
        pthread_join(threads[k], NULL);
    printf("leaked %.0f\n", leaked);
    return 0;
}
