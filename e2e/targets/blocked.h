/* The clock of targets that compare their waits with those of a profile of blocked time.
 */
#pragma once
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline unsigned long clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
}

/* Time by the clock less that of this thread on a CPU and on run queues, of which a busy machine has much: looked at
 * together, or not at all. */
static inline unsigned long blocked_ns(void)
{
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    for (;;) {
        char text[80] = "";
        unsigned long ran, queued, from = clock_ns(CLOCK_MONOTONIC);
        if (pread(fd, text, sizeof(text) - 1, 0) < 3 || sscanf(text, "%lu %lu", &ran, &queued) != 2)
            exit(1);
        ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        unsigned long to = clock_ns(CLOCK_MONOTONIC);
        if (to - from >= 50000)
            continue;
        close(fd);
        return to - ran - queued;
    }
}
