/* The clock of targets that compare their waits with those of a profile of blocked time. */
#pragma once
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Time without that of this process's main thread on run queues, of which a busy machine has much: the second number of
 * the file. */
static inline unsigned long long unqueued_ns(void)
{
    struct timespec t;
    char text[128] = "", *end;
    int fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        abort();
    close(fd);
    strtoull(text, &end, 10);
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec - strtoull(end, NULL, 10);
}
