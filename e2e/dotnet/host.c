/* Runs an assembly with the .NET runtime of the folder that this program is in, as its own hosts do
 * (src/coreclr/hosts/inc/coreclrhost.h).   host ASSEMBLY [ARGUMENT...] */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*initialize)(const char *exe, const char *domain, int n, const char **keys, const char **values,
                          void **handle, unsigned *id);
typedef int (*execute)(void *handle, unsigned id, int argc, const char **argv, const char *assembly, unsigned *status);

/* All assemblies of the folder, with colons between. */
static char *list_assemblies(const char *folder)
{
    char *list = calloc(1, 1 << 20), *end = list;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot && !strcmp(dot, ".dll") && end - list < (1 << 20) - 2 * PATH_MAX)
            end += sprintf(end, "%s/%s:", folder, e->d_name);
    }
    if (d)
        closedir(d);
    return list;
}

static void fail(const char *what, int code)
{
    fprintf(stderr, "host: cannot %s: %#x\n", what, (unsigned)code);
    exit(1);
}

int main(int argc, char **argv)
{
    char folder[PATH_MAX], path[PATH_MAX + 32], *assembly = argc > 1 ? realpath(argv[1], NULL) : NULL;
    ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    if (!assembly || n < 0)
        fail("find the assembly", argc);
    folder[n] = 0;
    *strrchr(folder, '/') = 0;
    snprintf(path, sizeof(path), "%s/libcoreclr.so", folder);
    void *library = dlopen(path, RTLD_NOW), *handle;
    if (!library)
        fail(dlerror(), 0);
    initialize start = (initialize)dlsym(library, "coreclr_initialize");
    execute run = (execute)dlsym(library, "coreclr_execute_assembly");
    const char *keys[] = {"TRUSTED_PLATFORM_ASSEMBLIES", "NATIVE_DLL_SEARCH_DIRECTORIES",
                          "System.Globalization.Invariant"};
    const char *values[] = {list_assemblies(folder), folder, "true"};
    unsigned id, status = 1;
    int rc = start("host", "host", 3, keys, values, &handle, &id);
    if (rc < 0)
        fail("start the runtime", rc);
    rc = run(handle, id, argc - 2, (const char **)argv + 2, assembly, &status);
    if (rc < 0)
        fail("run the assembly", rc);
    return (int)status;
}
