/* Holds blocks, and allocates and frees others as fast as it can: watching that would cost a multiple of its own time.
 *
 *     spender HELD SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static void hold(int blocks)
{
    for (int i = 0; i < blocks; i++) {
        void *volatile p = malloc(1 << 20);
        if (!p)
            abort();
    }
}

__attribute__((noinline)) static void spend(void)
{
    for (int i = 0; i < 10000; i++) {
        void *volatile p = malloc(100);
        free(p);
    }
}

int main(int argc, char **argv)
{
    hold(argc > 1 ? atoi(argv[1]) : 10);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (time_t until = now.tv_sec + (argc > 2 ? atoi(argv[2]) : 5); now.tv_sec < until;
         clock_gettime(CLOCK_MONOTONIC, &now))
        spend();
    puts("done");
    return 0;
}
