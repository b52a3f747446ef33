/* Faults in pages, one after the other, and gives them back, and prints the CPU time of a fault in ns, the return of
 * the page included.   faulter SECONDS */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, PAGES = 8192 };

static double at(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static long fault_until(volatile char *p, double end)
{
    long faults = 0;
    for (; at(CLOCK_MONOTONIC) < end; faults += PAGES) {
        for (long i = 0; i < PAGES; i++)
            p[i * PAGE] = 1;
        madvise((void *)p, (size_t)PAGE * PAGES, MADV_DONTNEED);
    }
    return faults;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1, before = argc > 2 ? atof(argv[2]) : 0;
    volatile char *p = mmap(NULL, (size_t)PAGE * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || madvise((void *)p, (size_t)PAGE * PAGES, MADV_NOHUGEPAGE))
        return 1;
    fault_until(p, at(CLOCK_MONOTONIC) + 1e9 * before);
    double began = at(CLOCK_PROCESS_CPUTIME_ID);
    long faults = fault_until(p, at(CLOCK_MONOTONIC) + 1e9 * seconds);
    printf("%.1f\n", (at(CLOCK_PROCESS_CPUTIME_ID) - began) / (double)faults);
    return 0;
}
