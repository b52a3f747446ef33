#include "profile/kernel_locks.h"
#include "profile/waker_frames.h"
#include <stddef.h>
#include <string.h>

bool kernel_lock_traces(const char *function)
{
    return waker_function(function) == WAKER_TRACING;
}

/* Beginnings of names, of functions in kernel/locking/ and of those that only call them. */
bool kernel_lock_takes(const char *function)
{
    static const char *const names[] = {
        "mutex_",    "__mutex_",     "_mutex_",       "ww_mutex_",      "__ww_mutex_",    "rwsem_",
        "__rwsem_",  "down_read",    "down_write",    "__down",         "down_",          "percpu_down",
        "__percpu_", "percpu_rwsem", "rt_mutex",      "__rt_mutex",     "rtlock_",        "rwbase_",
        "rt_spin",   "rt_read_lock", "rt_write_lock", "mmap_read_lock", "mmap_write_lock"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strncmp(function, names[i], strlen(names[i])))
            return true;
    return !strcmp(function, "down");
}
