/* To be preloaded: the time of day is off by as many seconds as the file STEP_FILE says, from the moment it says so. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, t);
    const char *path = getenv("STEP_FILE");
    FILE *f = !rc && clock == CLOCK_REALTIME && path ? fopen(path, "re") : NULL;
    long step;
    if (f && fscanf(f, "%ld", &step) == 1)
        t->tv_sec += step;
    if (f)
        fclose(f);
    return rc;
}
