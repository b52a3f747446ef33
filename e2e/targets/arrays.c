/* Runs for some milliseconds in a library that it has just opened, in a thread whose stack has a large array that is
 * hardly used: most pages of it are not in memory.
 *
 *   arrays LIBRARY MILLISECONDS    the library is this file, too, with -DLIBRARY
 */
#include "burn.h"

#ifdef LIBRARY
KEEP void work(long ms)
{
    burn(ms);
    STAY;
}
#else

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

struct job {
    void (*work)(long);
    long ms;
};

static KEEP void inner(const struct job *job)
{
    job->work(job->ms);
    STAY;
}

static KEEP void *outer(void *job)
{
    volatile char large[40000];
    large[0] = 1;
    inner(job);
    STAY;
    return NULL;
}

int main(int argc, char **argv)
{
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    struct job job = {library ? (void (*)(long))dlsym(library, "work") : NULL, argc == 3 ? atol(argv[2]) : 0};
    pthread_t thread;
    return !job.work || pthread_create(&thread, NULL, outer, &job) || pthread_join(thread, NULL);
}
#endif
