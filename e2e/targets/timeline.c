/* Threads whose time is known:   timeline SECONDS
 *   spinner   computes all the time          waiter    waits for a pipe all the time
 *   sleeper   sleeps 5 ms, again and again   ping,pong hand a byte to each other
 *   busy1..3  compute on one CPU
 * Prints a line a thread: name, TID, begin and end (CLOCK_MONOTONIC, ns), time on CPUs and on run queues in between
 * (/proc/self/task/TID/schedstat), and rounds; then a line with the time that these sums leave out. With ONLY_PING in
 * the environment, there are only these two; with PING_RATE=N they have N rounds a second at most, and compute
 * meanwhile. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;
static int there[2], back[2], never[2];

struct thread {
    const char *name;
    void (*work)(struct thread *);
    int cpu; /* -1: any */
    pthread_t id;
    int tid;
    long long begin, end, ran, queued, rounds;
};

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void schedstat(int tid, long long *ran, long long *queued)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%lld %lld", ran, queued) != 2)
        exit(1);
    fclose(f);
}

static void spin(struct thread *t)
{
    for (; !stop; t->rounds++)
        for (volatile int i = 0; i < 1000; i++)
            ;
}
static void doze(struct thread *t)
{
    for (; !stop; t->rounds++)
        usleep(5000);
}
static void wait_for_ever(struct thread *t)
{
    char c;
    t->rounds = read(never[0], &c, 1);
}
static void serve(struct thread *t)
{
    const char *rate = getenv("PING_RATE");
    double pause = rate ? 1e9 / atof(rate) : 0;
    for (char c; !stop && write(there[1], "x", 1) == 1 && read(back[0], &c, 1) == 1; t->rounds++)
        while (now() < t->begin + (long long)(pause * (double)t->rounds))
            ;
    close(there[1]);
}
static void answer(struct thread *t)
{
    for (char c; read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1; t->rounds++)
        ;
}

static void *run(void *arg)
{
    struct thread *t = arg;
    long long ran, queued;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(t->cpu < 0 ? 0 : t->cpu, &set);
    t->tid = (int)syscall(SYS_gettid);
    prctl(PR_SET_NAME, t->name);
    if (t->cpu >= 0)
        sched_setaffinity(0, sizeof(set), &set);
    schedstat(t->tid, &ran, &queued);
    t->begin = now();
    t->work(t);
    t->end = now();
    schedstat(t->tid, &t->ran, &t->queued);
    t->ran -= ran;
    t->queued -= queued;
    return NULL;
}

/* Time that the scheduler's sums leave out: of interrupts, and of other virtual machines (proc(5)). In ns, of all CPUs.
 */
static long long left_out(void)
{
    long long irq, soft, steal;
    FILE *f = fopen("/proc/stat", "r");
    if (!f || fscanf(f, "cpu %*s %*s %*s %*s %*s %lld %lld %lld", &irq, &soft, &steal) != 3)
        exit(1);
    fclose(f);
    return (irq + soft + steal) * (1000000000ll / sysconf(_SC_CLK_TCK));
}

int main(int argc, char **argv)
{
    long long before = left_out();
    struct thread threads[] = {
        {.name = "spinner", .work = spin, .cpu = -1}, {.name = "waiter", .work = wait_for_ever, .cpu = -1},
        {.name = "sleeper", .work = doze, .cpu = -1}, {.name = "ping", .work = serve, .cpu = -1},
        {.name = "pong", .work = answer, .cpu = -1},  {.name = "busy1", .work = spin, .cpu = 0},
        {.name = "busy2", .work = spin, .cpu = 0},    {.name = "busy3", .work = spin, .cpu = 0},
    };
    size_t n = sizeof(threads) / sizeof(*threads);
    if (argc < 2 || pipe(there) || pipe(back) || pipe(never))
        return 1;
    if (getenv("ONLY_PING")) {
        threads[0] = threads[3];
        threads[1] = threads[4];
        n = 2;
    }
    for (size_t i = 0; i < n; i++)
        pthread_create(&threads[i].id, NULL, run, &threads[i]);
    for (int i = 0; i < 10 * atoi(argv[1]); i++)
        usleep(100000);
    stop = 1;
    close(never[1]);
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i].id, NULL);
    for (size_t i = 0; i < n; i++)
        printf("%s %d %lld %lld %lld %lld %lld\n", threads[i].name, threads[i].tid, threads[i].begin, threads[i].end,
               threads[i].ran, threads[i].queued, threads[i].rounds);
    printf("left-out %lld\n", left_out() - before);
    return 0;
}
