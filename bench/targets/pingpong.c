/* Two processes on one CPU pass a byte to and fro over pipes; each pass is a switch. Prints the PID of the first, then
 * for every 50,000 rounds the ns of a switch: of a round, less those of the same calls without a switch, by two.
 *   pingpong [CPU]
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 50000

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void pass(int to, int from)
{
    char c = 'x';
    if (write(to, &c, 1) != 1 || read(from, &c, 1) != 1)
        exit(1);
}

static void echo(int from, int to)
{
    char c;
    while (read(from, &c, 1) == 1 && write(to, &c, 1) == 1)
        ;
    exit(0);
}

int main(int argc, char **argv)
{
    int there[2], back[2], own[2];
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &set);
    if (sched_setaffinity(0, sizeof(set), &set) || pipe(there) || pipe(back) || pipe(own))
        return 1;
    if (!fork()) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        echo(there[0], back[1]);
    }
    printf("%d\n", getpid());
    for (;;) {
        double began = now_ns();
        for (int i = 0; i < ROUNDS; i++)
            pass(there[1], back[0]);
        double round = now_ns() - began;
        began = now_ns();
        for (int i = 0; i < 2 * ROUNDS; i++)
            pass(own[1], own[0]);
        printf("%.0f\n", (round - (now_ns() - began)) / ROUNDS / 2);
        fflush(stdout);
    }
}
