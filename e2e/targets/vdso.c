/* Asks for the time, which the kernel's vdso tells. */
#include "burn.h"

static KEEP void ask(int rounds)
{
    struct timespec t;
    for (int i = 0; i < rounds; i++)
        clock_gettime(CLOCK_MONOTONIC, &t);
}

int main(void)
{
    for (long end = cpu_ms() + 400; cpu_ms() < end;)
        ask(1000);
    return 0;
}
