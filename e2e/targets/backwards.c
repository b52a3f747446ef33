/* To be preloaded: the time of day goes back by an hour whenever somebody asks. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
    static long back;
    int rc = (int)syscall(SYS_clock_gettime, clock, t);
    if (!rc && clock == CLOCK_REALTIME)
        t->tv_sec -= 3600 * ++back;
    return rc;
}
