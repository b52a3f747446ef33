/* threads N FILE: N threads that wait, ten calls deep, and one that looks at the clock without end; FILE (mapped) holds
 * the longest time in ns that it was kept from that since somebody wrote 0 there. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static volatile unsigned long *longest;

__attribute__((noinline)) static void wait_below(int depth)
{
    if (depth)
        wait_below(depth - 1);
    else
        poll(NULL, 0, -1);
    sink++;
}

static void *waiter(void *arg)
{
    wait_below(10);
    return arg;
}

static unsigned long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
}

int main(int argc, char **argv)
{
    int fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    pthread_t t;
    if (fd < 0 || ftruncate(fd, 4096))
        return 2;
    longest = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int i = atoi(argv[1]); i > 0; i--)
        pthread_create(&t, NULL, waiter, NULL);
    puts("ready");
    fflush(stdout);
    for (unsigned long before = now(), at;; before = at) {
        at = now();
        if (at - before > *longest)
            *longest = at - before;
    }
}
