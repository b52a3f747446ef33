/* flip LIBRARY [OTHER]: burns CPU in a library's outer(). With OTHER, of the same size, it has that mapped in the
 * library's place for three quarters of the time.
 */
#define _GNU_SOURCE
#include "burn.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct range {
    unsigned long start, end, offset;
};

static int code_of(const char *library, struct range *r)
{
    char line[4096];
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && fgets(line, sizeof(line), f))
        if (strstr(line, " r-xp ") && strstr(line, library) &&
            sscanf(line, "%lx-%lx r-xp %lx", &r->start, &r->end, &r->offset) == 3)
            return fclose(f);
    return -1;
}

static int put(const struct range *r, int fd)
{
    return mmap((void *)r->start, r->end - r->start, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
                (long)r->offset) == MAP_FAILED;
}

int main(int argc, char **argv)
{
    struct range code;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void (*outer)(long) = library ? (void (*)(long))dlsym(library, "outer") : NULL;
    if (!outer || code_of(argv[1], &code))
        return 1;
    if (argc == 2) {
        outer(1000);
        return 0;
    }
    int mine = open(argv[1], O_RDONLY | O_CLOEXEC), other = open(argv[2], O_RDONLY | O_CLOEXEC);
    for (;;) {
        outer(1);
        if (put(&code, other))
            return 1;
        burn(3);
        if (put(&code, mine))
            return 1;
    }
}
