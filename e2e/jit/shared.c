/* Runs code that it generates through one mapping of a file without name, and writes more through others, which do not
 * last, as .NET does: the file changes all the time. The code keeps frame pointers.   shared SECONDS */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROOM 65536

/* push rbp; mov rbp, rsp; mov rax, rdi; dec rax; jnz -5; pop rbp; ret */
static const uint8_t loop[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0x5d, 0xc3};
/* push rbp; mov rbp, rsp; call rsi; pop rbp; ret */
static const uint8_t call[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint8_t *map(int fd, int prot)
{
    uint8_t *at = mmap(NULL, ROOM, prot, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        exit(1);
    return at;
}

static void write_code(int fd, size_t to, const uint8_t *code, size_t len)
{
    uint8_t *at = map(fd, PROT_READ | PROT_WRITE);
    memcpy(at + to, code, len);
    munmap(at, ROOM);
}

int main(int argc, char **argv)
{
    double end = now() + (argc > 1 ? atof(argv[1]) : 3);
    int fd = memfd_create("generated", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, ROOM))
        return 1;
    uint8_t *code = map(fd, PROT_READ | PROT_EXEC);
    write_code(fd, 0, call, sizeof(call));
    write_code(fd, 64, loop, sizeof(loop));
    void (*outer)(long, void *) = (void (*)(long, void *))(uintptr_t)code;
    for (size_t n = 0; now() < end; n++) {
        outer(100000, code + 64);
        write_code(fd, 4096 + n % 4096, loop, sizeof(loop)); /* which nobody runs */
    }
    return 0;
}
