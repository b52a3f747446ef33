/* files N FOLDER: makes N files with a small loop in each, and runs one after the other in a process that maps them
 * all. */
#define _GNU_SOURCE
#include "burn.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  4096
#define TIMES 1500000 /* somewhat more than a sampling period at 999 Hz */

static const unsigned char countdown[PAGE] = {
#ifdef __aarch64__
    0x00, 0x04, 0x00, 0xf1, /* 1: subs x0, x0, #1 */
    0xe1, 0xff, 0xff, 0x54, /* b.ne 1b */
    0xc0, 0x03, 0x5f, 0xd6, /* ret */
#else
    0x48, 0xff, 0xcf, /* 1: dec %rdi */
    0x75, 0xfb,       /* jnz 1b */
    0xc3,             /* ret */
#endif
};

static void *map_new(const char *folder, long i)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%ld", folder, i);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    void *at = fd < 0 || write(fd, countdown, PAGE) != PAGE
                   ? MAP_FAILED
                   : mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    return at;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 1;
    for (long i = 0; i < atol(argv[1]); i++) {
        void *at = map_new(argv[2], i);
        if (at == MAP_FAILED)
            return perror(argv[2]), 1;
        ((void (*)(unsigned long))at)(TIMES);
    }
    for (int i = 0; i < ROUNDS; i++)
        burn(1000);
    return 0;
}
