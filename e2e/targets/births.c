/* Processes that wait for their CPU before they run for the first time, because their parent goes on. `births N` starts
 * so many, one after the other and all on one CPU, each as short as can be, and prints
 *     PID NS
 * the parent, and how long the others were on run queues, by /proc/PID/schedstat. */
#define _GNU_SOURCE
#include "burn.h"
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long delay_of(pid_t pid)
{
    char path[64];
    unsigned long ns = 0;
    snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%*u %lu", &ns) != 1)
        err(2, "%s", path);
    fclose(f);
    return ns;
}

int main(int argc, char **argv)
{
    cpu_set_t cpus;
    unsigned long all = 0;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    if (argc != 2 || sched_setaffinity(0, sizeof(cpus), &cpus))
        err(2, "births N");
    for (int n = atoi(argv[1]); n; n--) {
        siginfo_t info;
        pid_t pid = fork();
        if (!pid)
            _exit(0);
        burn(1);
        waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
        usleep(1000); /* it says so before it leaves its CPU for good */
        all += delay_of(pid);
        waitpid(pid, NULL, 0);
    }
    printf("%d %lu\n", getpid(), all);
    return 0;
}
