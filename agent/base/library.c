#include "base/library.h"
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int library_load(const char *file, const struct library_function functions[], void *table)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); /* threads and handlers of it may stay */
    int rc = handle ? 0 : -ELIBACC;
    for (const struct library_function *f = functions; !rc && f->name; f++) {
        void *address = dlsym(handle, f->name);
        memcpy((char *)table + f->place, &address, sizeof(address));
        rc = address ? 0 : -ELIBBAD;
    }
    if (handle)
        dlclose(handle);
    return rc;
}
