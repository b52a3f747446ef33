/* Allocates, uses and frees small blocks, about a million per second, and prints how many it did per second.
 *
 *     churn SECONDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HELD = 1024, BATCH = 256 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* A request: takes the place of an earlier one. */
__attribute__((noinline)) static void request(unsigned char **held, uint64_t *seed)
{
    unsigned char **at = &held[draw(seed) % HELD];
    size_t size = 64 + draw(seed) % 8192;
    free(*at);
    *at = malloc(size);
    if (!*at)
        abort();
    memset(*at, (int)*seed, size);
    for (size_t i = 1; i < size; i += 16)
        (*at)[i] ^= (*at)[i - 1];
}

int main(int argc, char **argv)
{
    static unsigned char *held[HELD];
    uint64_t seed = 88172645463325252ull, done = 0;
    double from = now(), until = from + (argc > 1 ? atof(argv[1]) : 5), at;
    do {
        for (int i = 0; i < BATCH; i++)
            request(held, &seed);
        done += BATCH;
        at = now();
    } while (at < until);
    printf("%.0f\n", (double)done / (at - from));
    return 0;
}
