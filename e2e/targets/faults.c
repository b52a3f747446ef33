/* Functions that cause page faults of one sort each. They print their names, and the minor and major faults that the
 * kernel has counted meanwhile. Arguments: a file; seconds to wait before. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGES 2000
#define BYTES (PAGES * 4096ul)

static volatile char sink;

static __attribute__((noinline)) void with_anon(char *p)
{
    for (size_t i = 0; i < BYTES; i += 4096)
        p[i] = 1;
}

static __attribute__((noinline)) void with_shared(char *p)
{
    for (size_t i = 0; i < BYTES; i += 4096)
        p[i] = 1;
}

static __attribute__((noinline)) void with_file(char *p)
{
    for (size_t i = 0; i < BYTES; i += 4096)
        sink = p[i];
}

/* The kernel faults here. */
static __attribute__((noinline)) void with_read(char *p)
{
    int fd = open("/dev/zero", O_RDONLY);
    if (read(fd, p, BYTES) != (ssize_t)BYTES)
        exit(1);
    close(fd);
}

static char *map(int flags, int fd)
{
    char *p = mmap(NULL, BYTES, fd < 0 ? PROT_READ | PROT_WRITE : PROT_READ, flags, fd, 0);
    if (p == MAP_FAILED || madvise(p, BYTES, fd < 0 ? MADV_NOHUGEPAGE : MADV_RANDOM))
        exit(1);
    return p;
}

static void run(const char *name, void (*f)(char *), char *p)
{
    struct rusage a, b;
    getrusage(RUSAGE_SELF, &a);
    f(p);
    getrusage(RUSAGE_SELF, &b);
    printf("%s %ld %ld\n", name, b.ru_minflt - a.ru_minflt, b.ru_majflt - a.ru_majflt);
}

int main(int argc, char **argv)
{
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    sleep(argc > 2 ? (unsigned)atoi(argv[2]) : 0);
    if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
        return 1;
    run("with_anon", with_anon, map(MAP_PRIVATE | MAP_ANONYMOUS, -1));
    run("with_shared", with_shared, map(MAP_SHARED | MAP_ANONYMOUS, -1));
    run("with_file", with_file, map(MAP_PRIVATE, fd));
    run("with_read", with_read, map(MAP_PRIVATE | MAP_ANONYMOUS, -1));
    return 0;
}
