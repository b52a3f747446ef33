/* Calls two functions as often as it can, for so many seconds of CPU time, then prints how often:   ticks SECONDS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

static volatile long done;

/* Begins with an instruction that the kernel emulates, */
__attribute__((noinline, noclone)) long tick(long n)
{
    __asm__ volatile("nop");
    return done += n;
}

/* and with one that it steps over. */
__attribute__((noinline, noclone)) long tock(long n)
{
    return done += n;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A million calls per second of CPU time, if nothing slows them down, and a thousand system calls. */
int main(int argc, char **argv)
{
    double end = now() + (argc > 1 ? atof(argv[1]) : 1);
    long calls = 0;
    while (now() < end) {
        double next = now() + 1e-3;
        for (int i = 0; i < 1000; i++, calls++)
            done & 1 ? tick(1) : tock(1);
        syscall(SYS_getpriority, 0, 0);
        while (now() < next)
            ;
    }
    printf("%ld\n", calls);
    return done != calls;
}
