/* A flag by which one thread tells others to end. Those look at it now and then, most of them without a lock, so it is
 * read and written atomically. What was written before the flag is handed over by the join that follows, or by a lock.
 */
#pragma once
#include <stdbool.h>

static inline void stop_request(volatile bool *stop)
{
    __atomic_store_n(stop, true, __ATOMIC_RELAXED);
}

/* NULL: nobody can ask for it. */
static inline bool stop_requested(const volatile bool *stop)
{
    return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
}
