/* What targets do: use CPU time, measured by the thread's own clock, so that the number of samples does not depend on
 * what else the machine does.
 */
#pragma once
#include <time.h>

/* A frame of its own, under its own name. */
#ifdef __clang__
#define KEEP __attribute__((noinline, unused))
#else
#define KEEP __attribute__((noinline, noclone, unused))
#endif
#define STAY __asm__ volatile("") /* behind a call: no tail call */

#ifdef FOREVER
#define ROUNDS 1000000000 /* for who ends it with a signal */
#else
#define ROUNDS 1
#endif

static inline long cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline void spin(int rounds)
{
    for (volatile int i = 0; i < rounds; i++)
        ;
}

static KEEP void burn(long ms)
{
    for (long end = cpu_ms() + ms; cpu_ms() < end;)
        spin(20000);
}
