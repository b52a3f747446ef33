/* Makes system calls and calls functions that take a known time, a known number of times:   latency [go]
 * With an argument it says "ready" first, and waits for a line. Last, it prints what its own clock says of the time
 * that they took:   NAME CALLS NANOSECONDS What does not return is done first, so that whoever takes it for the calls
 * that do would be far off. */
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MS       1000000L

static volatile long done;
static jmp_buf back;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void rest(long ns)
{
    struct timespec t = {0, ns};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

NOINLINE long spin(long ns)
{
    int64_t end = now() + ns;
    while (now() < end)
        done++;
    return ns / MS;
}

/* Each call contains the next one. */
NOINLINE long nest(long depth)
{
    rest(MS);
    long n = depth ? nest(depth - 1) : 0;
    done++;
    return n + 1;
}

/* Ends with a jump to another one. */
NOINLINE long last(long ns)
{
    rest(ns);
    return done++;
}
NOINLINE long jumps(long ns)
{
    return last(ns);
}

NOINLINE long leap(long away)
{
    if (away)
        longjmp(back, 1);
    rest(MS);
    return done++;
}

NOINLINE long gone(long how)
{
    if (how)
        syscall(SYS_exit, 0);
    return done++;
}

static void *dies(void *how)
{
    gone((long)how);
    return NULL;
}

static void *works(void *ns)
{
    for (int i = 0; i < 10; i++)
        spin((long)ns);
    return NULL;
}

static void end_threads(void)
{
    pthread_t t;
    for (long i = 0; i < 20; i++) {
        pthread_create(&t, NULL, dies, (void *)(long)(i % 2));
        pthread_join(t, NULL);
    }
}

/* The first calls of the sequence are in no sum: a probe may still be on its way into the process. */
static void told(const char *name, long calls, int64_t began)
{
    printf("%s %ld %lld\n", name, calls, (long long)(now() - began));
}

int main(int argc, char **argv)
{
    pthread_t t[4];
    int64_t began;
    (void)argv;
    if (argc > 1) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    end_threads();
    for (volatile int i = 0; i < 30; i++)
        if (!setjmp(back))
            leap(i % 3);
    int ends[2], child;
    if (pipe(ends))
        return 1;
    if (!(child = fork())) { /* it does not return from a call either */
        char c;
        close(ends[1]);
        execl("/bin/true", "true", (char *)NULL);
        _exit(read(ends[0], &c, 1) < 0);
    }
    waitpid(child, NULL, 0);

    began = now();
    for (int i = 0; i < 50; i++)
        rest(4 * MS);
    told("rest", 50, began);
    began = now();
    for (int i = 0; i < 50; i++)
        spin(4 * MS);
    told("spin", 50, began);
    began = now();
    for (int i = 0; i < 10; i++)
        nest(5);
    told("nest", 60, began);
    began = now();
    for (int i = 0; i < 20; i++)
        jumps(5 * MS);
    told("jumps", 20, began);
    began = now();
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, works, (void *)(2 * MS));
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    told("works", 40, began);
    for (int i = 0; i < 1000; i++)
        syscall(SYS_getpriority, 0, 0);
    return 0;
}
