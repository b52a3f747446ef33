/* Reads clocks, in nanoseconds. Durations use the monotonic clock, so they do not change when the wall clock is set. */
#pragma once
#include <stdint.h>
#include <time.h>

#define NS_PER_SEC 1000000000ull

static inline uint64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}
static inline uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}
