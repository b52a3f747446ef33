/* probed: CPU time below 20 calls of deeper(), and in an allocator that is called all the time. */
#include "burn.h"
#include <stdlib.h>
#include <string.h>

static KEEP void deeper(int n)
{
    if (n)
        deeper(n - 1);
    else
        burn(20);
    STAY;
}

static KEEP void *inner(size_t n)
{
    void *p = malloc(n);
    STAY;
    return p;
}

static KEEP void allocate(void)
{
    for (size_t n = 16; n < 16 * 2000; n += 16) {
        void *p = inner(n);
        memset(p, 1, n);
        free(p);
    }
    STAY;
}

int main(void)
{
    for (long end = cpu_ms() + 4000; cpu_ms() < end;) {
        deeper(19);
        allocate();
    }
    return 0;
}
