/* steady [PROCESSES [PAUSE_MS]]: so many processes that each burn a few milliseconds of CPU under main;outer;inner and
 * pause (100 ms usually), again and again, neither of it in step with a clock. Ends when its parent does.
 */
#include "burn.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned about(unsigned n, unsigned *seed) /* half of it to one and a half */
{
    *seed = *seed * 1664525 + 1013904223;
    return n / 2 + *seed / 65536 % (n + 1);
}

static KEEP void inner(long us)
{
    struct timespec t;
    long end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    for (end = t.tv_sec * 1000000 + t.tv_nsec / 1000 + us; t.tv_sec * 1000000 + t.tv_nsec / 1000 < end;) {
        spin(2000);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    }
}

static KEEP void outer(unsigned pause_ms, unsigned burn_ms, unsigned seed)
{
    for (;;) {
        inner(about(1000 * burn_ms, &seed));
        usleep(about(1000 * pause_ms, &seed));
    }
}

int main(int argc, char **argv)
{
    int processes = argc > 1 ? atoi(argv[1]) : 1;
    unsigned pause_ms = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
    for (int i = 1; i < processes; i++)
        if (!fork()) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            outer(pause_ms, 1, (unsigned)i);
        }
    outer(pause_ms, processes > 1 ? 1 : 40, 0);
    return 0;
}
