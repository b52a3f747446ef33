/* plugins FIRST SECOND: loads one library after the other, burns CPU in its outer(), and unloads it: the next one gets
 * the same addresses, and most likely the memory of what the kernel knew of its predecessor. Meanwhile it maps and
 * unmaps other memory. Prints how often the address was that of the call before.
 */
#define _GNU_SOURCE
#include "burn.h"
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

static KEEP void churn_and(void (*outer)(long))
{
    for (int i = 0; i < 3; i++) {
        void *room = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        outer(5);
        munmap(room, 1 << 20);
    }
}

static KEEP void in_first(void (*outer)(long))
{
    churn_and(outer);
    STAY;
}

static KEEP void in_second(void (*outer)(long))
{
    churn_and(outer);
    STAY;
}

int main(int argc, char **argv)
{
    unsigned same = 0;
    void *before = NULL;
    Dl_info at;
    for (int i = 0; argc == 3 && i < 200; i++) {
        void *library = dlopen(argv[1 + i % 2], RTLD_NOW);
        void (*outer)(long) = library ? (void (*)(long))dlsym(library, i % 2 ? "second_outer" : "first_outer") : NULL;
        if (!outer || !dladdr((void *)outer, &at))
            return 1;
        same += at.dli_fbase == before;
        before = at.dli_fbase;
        (i % 2 ? in_second : in_first)(outer);
        dlclose(library);
    }
    printf("%u\n", same);
    return 0;
}
