/* Holds memory of the kernel, by functions whose names say what: kmem COUNT [FOLDER [SECONDS]]. FOLDER is in a tmpfs.
 * Half of each is freed again, some of it by other threads and after a grace period. Prints lines FUNCTION CACHE
 * OBJECTS HELD: what it knows for certain. With SECONDS, it begins after that time, and holds what it has until it is
 * killed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define STAY __asm__ volatile("" ::: "memory") /* what was called is no jump */
#define MOST 20000

static int pipes[MOST][2];
static timer_t timers[MOST];

static void check(int failed, const char *what)
{
    if (failed) {
        perror(what);
        exit(1);
    }
}

static int raise_limit(int which)
{
    struct rlimit most;
    if (getrlimit(which, &most))
        return -1;
    most.rlim_cur = most.rlim_max;
    return setrlimit(which, &most);
}

/* A pipe has two files, an inode and a dentry, a pipe_inode_info and its buffers. */
__attribute__((noinline)) static void make_pipes(int n)
{
    for (int i = 0; i < n; i++)
        check(pipe(pipes[i]), "pipe");
    STAY;
}

/* What is in a pipe takes a page. */
__attribute__((noinline)) static void fill_pipes(int n)
{
    for (int i = 0; i < n; i++)
        check(write(pipes[i][1], "x", 1) != 1, "write");
    STAY;
}

/* 256 buffers of 40 bytes are more than slab caches have. */
__attribute__((noinline)) static void widen_pipes(int n)
{
    for (int i = 0; i < n; i++)
        check(fcntl(pipes[i][1], F_SETPIPE_SZ, 1 << 20) < 0, "fcntl");
    STAY;
}

__attribute__((noinline)) static void make_timers(int n)
{
    struct sigevent none = {.sigev_notify = SIGEV_NONE};
    for (int i = 0; i < n; i++)
        check(timer_create(CLOCK_MONOTONIC, &none, &timers[i]), "timer_create");
    STAY;
}

__attribute__((noinline)) static void make_files(const char *folder, int n)
{
    char name[256];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%s/file-%d", folder, i);
        int fd = open(name, O_CREAT | O_WRONLY, 0600);
        check(fd < 0, "open");
        close(fd);
    }
    STAY;
}

static void *drop(void *count)
{
    int n = *(int *)count;
    for (int i = 0; i < n; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
        timer_delete(timers[i]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100, half = n / 2, few = n / 10;
    pthread_t other;
    check(n > MOST || raise_limit(RLIMIT_NOFILE) || raise_limit(RLIMIT_SIGPENDING), "limits");
    if (argc > 3)
        sleep((unsigned)atoi(argv[3]));
    make_pipes(n);
    fill_pipes(n);
    widen_pipes(few);
    make_timers(n);
    if (argc > 2)
        make_files(argv[2], n);
    check(pthread_create(&other, NULL, drop, &half), "pthread_create");
    pthread_join(other, NULL);
    printf("make_pipes filp %d %d\nmake_pipes dentry %d %d\n", 2 * n, 2 * (n - half), n, n - half);
    printf("make_pipes inode_cache %d %d\nfill_pipes pages %d %d\n", n, n - half, n, n - half);
    printf("widen_pipes kmalloc-large %d 0\nmake_timers posix_timers_cache %d %d\n", few, n, n - half);
    if (argc > 2)
        printf("make_files dentry %d %d\nmake_files shmem_inode_cache %d %d\n", n, n, n, n);
    fflush(stdout);
    sleep(argc > 3 ? 1000 : 2); /* grace periods */
    /* without an end of the process that frees all */
    kill(getpid(), SIGSTOP);
    return 0;
}
