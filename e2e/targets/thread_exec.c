/* `thread_exec N`: a thread that is not the leader replaces the program by `thread_exec N-1`; at 0, waits for a byte.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char **args;

static void *replace(void *unused)
{
    char left[16];
    usleep(5000); /* leaves its CPU once */
    snprintf(left, sizeof(left), "%d", atoi(args[1]) - 1);
    execl("/proc/self/exe", args[0], left, NULL);
    err(1, "exec %s", (const char *)unused);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char byte;
    args = argv;
    if (argc != 2)
        errx(2, "thread_exec N");
    if (!atoi(argv[1]))
        return read(0, &byte, 1) < 0;
    if (pthread_create(&thread, NULL, replace, argv[0]))
        errx(1, "no thread");
    pthread_join(thread, NULL);
    return 1;
}
