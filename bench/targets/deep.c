/* deep DEPTH SECONDS: spins at the bottom of DEPTH calls, so that the cost of one stack is all that changes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void spin(time_t until)
{
    while (time(NULL) < until)
        for (int i = 0; i < 100000; i++)
            sink = sink * 7 + (unsigned)i;
}

__attribute__((noinline)) static void down(int depth, time_t until)
{
    if (depth > 0)
        down(depth - 1, until);
    else
        spin(until);
    sink++; /* so that the call above is no tail call */
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    down(atoi(argv[1]), time(NULL) + atoi(argv[2]));
    return 0;
}
