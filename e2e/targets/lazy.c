/* lazy MS: calls a function of libtiny.so through the PLT all the time. */
#include "burn.h"
#include <stdlib.h>

int tiny(int n);

static KEEP int caller(long ms)
{
    int n = 0;
    for (long end = cpu_ms() + ms; cpu_ms() < end;)
        for (int i = 0; i < 200; i++)
            n = tiny(n);
    return n;
}

int main(int argc, char **argv)
{
    return caller(argc > 1 ? atol(argv[1]) : 100) < 0;
}
