/* Waits 50 us, again and again, and 20 ms now and then: LONG times in all, and prints "seldom ns" of its own clock for
 * these, without time on CPUs and run queues.   seldom LONG */
#include "blocked.h"
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
    unsigned long long from = blocked_ns();
    nap(20000000);
    return blocked_ns() - from;
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
