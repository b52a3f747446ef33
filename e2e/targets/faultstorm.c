/* Makes its memory grow, and then faults in pages as fast as it can, giving them back each time, for some seconds. Then
 * it grows once more, goes on growing slowly, for some seconds, and holds that for some; or it ends.
 *
 * Usage: faultstorm MEGABYTES SECONDS [MEGABYTES_THEN SECONDS_SLOWLY SECONDS_AT_LAST]
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MB   (1ul << 20)
#define KEEP __attribute__((noinline, noclone))

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static char *map(size_t size)
{
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || madvise(p, size, MADV_NOHUGEPAGE))
        exit(1);
    return p;
}

static void touch(volatile char *p, size_t size)
{
    for (size_t i = 0; i < size; i += 4096)
        p[i] = 1;
}

KEEP static void grow(size_t size)
{
    if (size)
        touch(map(size), size);
}

KEEP static void churn(double seconds)
{
    char *p = map(8 * MB);
    for (double end = now() + seconds; now() < end;) {
        touch(p, 8 * MB);
        madvise(p, 8 * MB, MADV_DONTNEED);
    }
}

KEEP static void grow_slowly(double seconds)
{
    for (double end = now() + seconds; now() < end; usleep(20000))
        touch(map(MB), MB);
}

int main(int argc, char **argv)
{
    double numbers[5] = {0};
    for (int i = 1; i < argc && i <= 5; i++)
        numbers[i - 1] = atof(argv[i]);
    grow((size_t)numbers[0] * MB);
    churn(numbers[1]);
    grow((size_t)numbers[2] * MB);
    grow_slowly(numbers[3]);
    sleep((unsigned)numbers[4]);
    return 0;
}
