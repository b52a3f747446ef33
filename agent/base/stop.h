/* A flag by which one thread tells others to end. They poll it, mostly without a lock, so it is read and written
 * atomically. The flag does not synchronise other data: that is done by the following join, or by a lock.
 */
#pragma once
#include <stdbool.h>

static inline void stop_request(volatile bool *stop)
{
    __atomic_store_n(stop, true, __ATOMIC_RELAXED);
}

/* NULL: a stop cannot be requested. */
static inline bool stop_requested(const volatile bool *stop)
{
    return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
}
