/* Waits 50 us, again and again, and 20 ms now and then: LONG times in all, and prints "seldom ns" of its own clock for
 * these.   seldom LONG */
#include "burn.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SHORT 200 /* waits between two long ones */

static void nap(long ns)
{
    nanosleep(&(struct timespec){0, ns}, NULL);
}
static KEEP void often(void)
{
    nap(50000);
    STAY;
}
static KEEP unsigned long long seldom(void)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    nap(20000000);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (unsigned long long)(to.tv_sec - from.tv_sec) * 1000000000 + (unsigned long long)(to.tv_nsec - from.tv_nsec);
}

int main(int argc, char **argv)
{
    unsigned long long ns = 0;
    for (int n = argc > 1 ? atoi(argv[1]) : 0; n > 0; n--) {
        for (int i = 0; i < SHORT; i++)
            often();
        ns += seldom();
    }
    printf("seldom %llu\n", ns);
    return 0;
}
