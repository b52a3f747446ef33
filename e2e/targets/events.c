/* Page faults, switches to the idle task and migrations, each from a function of its own. */
#define _GNU_SOURCE
#include "burn.h"
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static KEEP void fault_in(void)
{
    size_t size = 4 << 20;
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < size; i += 4096)
        bytes[i] = 1;
    munmap(bytes, size);
}

static KEEP void sleep_often(void)
{
    struct timespec t = {0, 100000};
    for (int i = 0; i < 200; i++)
        nanosleep(&t, NULL);
}

static KEEP void migrate(void)
{
    for (int i = 0; i < 200; i++) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(i & 1, &set);
        sched_setaffinity(0, sizeof(set), &set);
    }
}

int main(void)
{
    for (int i = 0; i < 15; i++) {
        for (int k = 0; k < 8; k++)
            fault_in();
        sleep_often();
        migrate();
        burn(10);
    }
    return 0;
}
