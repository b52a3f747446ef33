/* Makes its memory grow and shrink in several ways, each in a function of its own, and prints for each function: its
 * name, and the bytes by which it should have grown.
 *
 * Usage: resident FILE [SECONDS to wait first]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB   (1ul << 20)
#define KEEP __attribute__((noinline, noclone))

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static char *map(size_t size, int flags, int fd)
{
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED)
        die("mmap");
    return p;
}

static void touch(char *p, size_t size)
{
    for (size_t i = 0; i < size; i += 4096)
        ((volatile char *)p)[i] = 1;
}

KEEP static void with_anonymous(int fd)
{
    char *p = map(256 * MB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    (void)fd;
    madvise(p, 256 * MB, MADV_NOHUGEPAGE);
    touch(p, 256 * MB);
    munmap(p, 256 * MB);
}

KEEP static void with_huge(int fd)
{
    char *p = map(258 * MB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    char *at = (char *)(((size_t)p + 2 * MB - 1) & ~(2 * MB - 1));
    (void)fd;
    madvise(at, 256 * MB, MADV_HUGEPAGE);
    touch(at, 256 * MB);
    munmap(p, 258 * MB);
}

/* Page faults of the kernel, which copies into fresh memory. */
KEEP static void with_read(int fd)
{
    char *p = map(128 * MB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    int zero = open("/dev/zero", O_RDONLY);
    (void)fd;
    madvise(p, 128 * MB, MADV_NOHUGEPAGE);
    if (zero < 0 || read(zero, p, 128 * MB) != 128 * (ssize_t)MB)
        die("read");
    close(zero);
    munmap(p, 128 * MB);
}

KEEP static void with_file(int fd)
{
    char *p = map(64 * MB, MAP_SHARED, fd);
    touch(p, 64 * MB);
    munmap(p, 64 * MB);
}

KEEP static void with_shared(int fd)
{
    char *p = map(64 * MB, MAP_SHARED | MAP_ANONYMOUS, -1);
    (void)fd;
    touch(p, 64 * MB);
    munmap(p, 64 * MB);
}

KEEP static void with_discard(int fd)
{
    char *p = map(64 * MB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    (void)fd;
    madvise(p, 64 * MB, MADV_NOHUGEPAGE);
    for (int i = 0; i < 3; i++) {
        touch(p, 64 * MB);
        madvise(p, 64 * MB, MADV_DONTNEED);
    }
    munmap(p, 64 * MB);
}

/* It is returned when the process ends. */
KEEP static void with_child(int fd)
{
    pid_t child = fork();
    if (!child) {
        char *p = map(64 * MB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        madvise(p, 64 * MB, MADV_NOHUGEPAGE);
        touch(p, 64 * MB);
        _exit(0);
    }
    (void)fd;
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*way)(int);
        size_t megabytes;
    } ways[] = {
        {"with_anonymous", with_anonymous, 256}, {"with_huge", with_huge, 256},
        {"with_read", with_read, 128},           {"with_file", with_file, 64},
        {"with_shared", with_shared, 64},        {"with_discard", with_discard, 3 * 64},
        {"with_child", with_child, 64},
    };
    int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd < 0 || ftruncate(fd, 64 * MB))
        die("open");
    if (argc > 2)
        sleep((unsigned)atoi(argv[2]));
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        ways[i].way(fd);
        printf("%s %zu\n", ways[i].name, ways[i].megabytes * MB);
    }
    return 0;
}
