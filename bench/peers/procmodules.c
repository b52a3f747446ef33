/* LD_PRELOAD: where the kernel has no modules and so no /proc/modules, the file that $PROC_MODULES names stands in for
 * it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef int open_fn(const char *path, int flags, ...);

static const char *instead(const char *path)
{
    const char *other = strcmp(path, "/proc/modules") ? NULL : getenv("PROC_MODULES");
    return other ? other : path;
}

#define WRAP(name)                                                               \
    int name(const char *path, int flags, ...)                                   \
    {                                                                            \
        va_list rest;                                                            \
        va_start(rest, flags);                                                   \
        mode_t mode = va_arg(rest, mode_t);                                      \
        va_end(rest);                                                            \
        return ((open_fn *)dlsym(RTLD_NEXT, #name))(instead(path), flags, mode); \
    }
WRAP(open)
WRAP(open64)
