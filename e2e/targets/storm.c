/* storm SECONDS [PROGRAM]: as many processes as possible, one after the other in each of two lanes; they exit at once,
 * or become PROGRAM. Prints how many there were.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long lane(double until, char *program)
{
    long n = 0;
    for (; now() < until; n++) {
        pid_t child = program ? vfork() : fork();
        if (!child) {
            if (program)
                execl(program, program, (char *)NULL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return n;
}

int main(int argc, char **argv)
{
    double until = now() + (argc > 1 ? atof(argv[1]) : 1);
    char *program = argc > 2 ? argv[2] : NULL;
    int result[2];
    long other = 0;
    if (pipe(result))
        return 1;
    if (!fork()) {
        long n = lane(until, program);
        return write(result[1], &n, sizeof(n)) != sizeof(n);
    }
    long n = lane(until, program);
    if (read(result[0], &other, sizeof(other)) != sizeof(other))
        return 1;
    printf("%ld\n", n + other);
    return 0;
}
