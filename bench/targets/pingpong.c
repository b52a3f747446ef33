/* Two processes on one CPU pass a byte to and fro over pipes; each pass is a switch. Prints the PID of the first, then
 * for every 10,000 rounds two numbers: ns of CPU time of both for a pass, and for the same calls without a switch. The
 * time of others is not in it, but they make it longer: the lower ones of many are the better ones.
 *   pingpong [CPU]
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 10000

static clockid_t clock_of_other;

static double clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double used_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + clock_ns(clock_of_other);
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
    pid_t other = fork();
    if (!other) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        echo(there[0], back[1]);
    }
    if (clock_getcpuclockid(other, &clock_of_other))
        return 1;
    printf("%d\n", getpid());
    for (;;) {
        double began = used_ns();
        for (int i = 0; i < ROUNDS; i++)
            pass(there[1], back[0]);
        double round = used_ns() - began;
        began = used_ns();
        for (int i = 0; i < 2 * ROUNDS; i++)
            pass(own[1], own[0]);
        printf("%.0f %.0f\n", round / ROUNDS / 2, (used_ns() - began) / ROUNDS / 2);
        fflush(stdout);
    }
}
