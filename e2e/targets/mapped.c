/* Maps and unmaps memory in several ways, each in a function of its own, and prints for each function: its name, and
 * the bytes by which it makes the data segment grow and shrink.
 *
 * Usage: mapped [SECONDS to wait first]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB   (1ul << 20)
#define KEEP __attribute__((noinline, noclone))
#define BOTH (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static char *map(void *at, size_t size, int prot, int flags)
{
    char *p = mmap(at, size, prot, flags, -1, 0);
    if (p == MAP_FAILED)
        exit(1);
    return p;
}

static void must(int failed)
{
    if (failed)
        exit(1);
}

KEEP static void with_mmap(void)
{
    for (int i = 0; i < 10; i++)
        must(munmap(map(NULL, 3 * MB + 1, BOTH, ANON), 3 * MB + 1));
}

KEEP static void with_brk(void)
{
    must(sbrk(5 * MB) == (void *)-1);
    must(sbrk(-2 * (long)MB) == (void *)-1);
}

KEEP static void with_mremap(void)
{
    char *p = map(NULL, 4 * MB, BOTH, ANON);
    p = mremap(p, 4 * MB, 10 * MB, MREMAP_MAYMOVE);
    must(p == MAP_FAILED || mremap(p, 10 * MB, 1 * MB, 0) == MAP_FAILED);
}

/* Reserved memory is none until it can be written to. */
KEEP static void with_mprotect(void)
{
    char *p = map(NULL, 64 * MB, PROT_NONE, ANON | MAP_NORESERVE);
    must(mprotect(p, 8 * MB, BOTH));
    must(mprotect(p, 3 * MB, PROT_READ));
}

/* In place of what is there, over a part of it, and of nothing. */
KEEP static void with_holes(void)
{
    char *p = map(NULL, 16 * MB, BOTH, ANON);
    must(munmap(p + 4 * MB, 4 * MB));
    map(p, 8 * MB, BOTH, ANON | MAP_FIXED);
    must(munmap(p, 16 * MB));
    must(munmap(p, 16 * MB));
}

/* Neither shared memory nor what can only be read. */
KEEP static void with_others(void)
{
    map(NULL, 32 * MB, BOTH, MAP_SHARED | MAP_ANONYMOUS);
    map(NULL, 32 * MB, PROT_READ, ANON);
}

static void *in_thread(void *unused)
{
    map(NULL, 7 * MB, BOTH, ANON);
    return unused;
}

KEEP static void with_child(void)
{
    int status;
    pid_t pid = fork();
    if (!pid) {
        must(munmap(map(NULL, 6 * MB, BOTH, ANON), 6 * MB));
        _exit(0);
    }
    must(waitpid(pid, &status, 0) != pid || status);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 0);
    with_mmap();
    with_brk();
    with_mremap();
    with_mprotect();
    with_holes();
    with_others();
    must(pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL));
    with_child();
    printf("with_mmap %lu %lu\n", 10 * (3 * MB + 4096), 10 * (3 * MB + 4096));
    printf("with_brk %lu %lu\n", 5 * MB, 2 * MB);
    printf("with_mremap %lu %lu\n", 10 * MB, 9 * MB);
    printf("with_mprotect %lu %lu\n", 8 * MB, 3 * MB);
    printf("with_holes %lu %lu\n", 20 * MB, 20 * MB);
    printf("with_others 0 0\n");
    printf("in_thread %lu 0\n", 7 * MB);
    printf("with_child %lu %lu\n", 6 * MB, 6 * MB);
    return 0;
}
