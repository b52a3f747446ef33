/* Threads that contend for locks of the kernel: `kernel_locks WHAT FOLDER MS` waits for a byte or the end of its input.
 * mmap: they map and unmap memory of their process (its mmap_lock, for writing and, to fill in pages, for reading).
 * write: they write to one file (the rw-semaphore of its inode). rename: they move files to another folder and back
 * (a mutex of the file system). */
#define _GNU_SOURCE
#include "burn.h"
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS 4

struct job {
    void (*round)(const struct job *);
    const char *folder;
    long until;
    int number;
};

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static KEEP void do_mmap(const struct job *j)
{
    size_t len = 4 << 20;
    char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED || munmap(p, len))
        err(1, "thread %d: mmap", j->number);
}

static KEEP void do_write(const struct job *j)
{
    static char bytes[1 << 20];
    char path[512];
    snprintf(path, sizeof(path), "%s/file", j->folder);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    if (fd < 0 || pwrite(fd, bytes, sizeof(bytes), 0) < 0)
        err(1, "%s", path);
    close(fd);
}

static KEEP void do_rename(const struct job *j)
{
    char from[512], to[512];
    snprintf(from, sizeof(from), "%s/%d", j->folder, j->number);
    snprintf(to, sizeof(to), "%s/other/%d", j->folder, j->number);
    for (int i = 0; i < 100; i++)
        if (rename(from, to) || rename(to, from))
            err(1, "%s", from);
}

static void *run(void *arg)
{
    const struct job *j = arg;
    while (now_ms() < j->until)
        j->round(j);
    return NULL;
}

static void prepare(const char *folder, int number)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/other", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%d", folder, number);
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

int main(int argc, char **argv)
{
    struct job jobs[THREADS];
    pthread_t threads[THREADS];
    char byte;
    if (argc != 4 || read(0, &byte, 1) < 0)
        errx(2, "kernel_locks mmap|write|rename FOLDER MS");
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){!strcmp(argv[1], "mmap")    ? do_mmap
                               : !strcmp(argv[1], "write") ? do_write
                                                           : do_rename,
                               argv[2], now_ms() + atol(argv[3]), i};
        prepare(argv[2], i);
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, &jobs[i]))
            errx(1, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
