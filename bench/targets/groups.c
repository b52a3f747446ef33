/* Makes and removes cgroups as a container runtime would, as fast as it goes or at a rate.
 *   groups FOLDER COUNT BURN_US [PER_SECOND]
 * Each is FOLDER/kubepods/podUID/CONTAINER_ID, an UID and an id of its own; with BURN_US a process burns so much CPU in
 * it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned long long now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

static void burn_in(const char *group, long us)
{
    char procs[512];
    snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
    pid_t child = fork();
    if (!child) {
        int fd = open(procs, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
            _exit(1);
        while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < (unsigned long long)us * 1000)
            ;
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* A process that has ended keeps its group busy for a moment. */
static void remove_group(const char *path)
{
    for (int i = 0; rmdir(path) && errno == EBUSY && i < 1000; i++)
        usleep(100);
}

int main(int argc, char **argv)
{
    char pod[256], group[400];
    if (argc < 4)
        return 1;
    long count = atol(argv[2]), us = atol(argv[3]), rate = argc > 4 ? atol(argv[4]) : 0;
    unsigned long long begun = now_ns(CLOCK_MONOTONIC);
    snprintf(pod, sizeof(pod), "%.200s/kubepods", argv[1]);
    mkdir(argv[1], 0755);
    mkdir(pod, 0755);
    for (long i = 0; i < count; i++) {
        snprintf(pod, sizeof(pod), "%.150s/kubepods/pod%08lx-%04x-4333-8444-555555555555", argv[1], i,
                 (unsigned)getpid() & 0xffff);
        snprintf(group, sizeof(group), "%s/%032lx%032lx", pod, (long)getpid(), i);
        if (mkdir(pod, 0755) || mkdir(group, 0755))
            return 1;
        if (us)
            burn_in(group, us);
        remove_group(group);
        remove_group(pod);
        while (rate && now_ns(CLOCK_MONOTONIC) - begun < (unsigned long long)(i + 1) * 1000000000 / (unsigned long)rate)
            usleep(500);
    }
    remove_group(strcat(strcpy(pod, argv[1]), "/kubepods"));
    remove_group(argv[1]);
    printf("%.1f\n", (double)(now_ns(CLOCK_MONOTONIC) - begun) / 1e9);
    return 0;
}
