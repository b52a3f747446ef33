/* Functions that realign their stack: aligned locals, and alloca, so that the frame hangs on a register (DRAP). */
#include "burn.h"
#include <alloca.h>

static KEEP int leaf(const char *bytes, int rounds)
{
    spin(rounds);
    return bytes[0];
}

static KEEP int realigned(int size)
{
    _Alignas(64) char aligned[128];
    char *dynamic = alloca((unsigned)size);
    aligned[0] = dynamic[0] = (char)size;
    __asm__ volatile("" : : "r"(aligned), "r"(dynamic) : "memory");
    return leaf(aligned, 20) + leaf(dynamic, 20);
}

static KEEP int outer(long ms)
{
    int n = 0;
    _Alignas(32) char aligned[64] = {0};
    __asm__ volatile("" : : "r"(aligned) : "memory");
    for (long end = cpu_ms() + ms; cpu_ms() < end;)
        for (int i = 0; i < 100; i++)
            n += realigned(i + 1);
    return n + aligned[0];
}

int main(void)
{
    return outer(600l * ROUNDS) == 0;
}
