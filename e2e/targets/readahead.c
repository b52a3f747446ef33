/* Reads a file that is not in the page cache in several ways, each in a function of its own, and throws it out of the
 * cache again. Prints for each function: its name, the pages it read or touched, and the pages that were in the cache
 * then (mincore).
 *
 * Usage: readahead FILE MEGABYTES [anything: it says "ready", and waits for a line first]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define KEEP __attribute__((noinline, noclone))

struct file {
    int fd;
    size_t pages;
    char *map;
    unsigned char *touched; /* by page */
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void note(struct file *f, size_t offset, size_t len)
{
    memset(f->touched + offset / PAGE, 1, (offset + len - 1) / PAGE - offset / PAGE + 1);
}

static void read_at(struct file *f, size_t offset, size_t len)
{
    static char bytes[1 << 20];
    if (pread(f->fd, bytes, len, (off_t)offset) != (ssize_t)len)
        die("pread");
    note(f, offset, len);
}

static size_t random_page(const struct file *f)
{
    return (size_t)rand() % (f->pages - 64);
}

KEEP static void with_sequential(struct file *f)
{
    for (size_t at = 0; at < f->pages * PAGE; at += 128 << 10)
        read_at(f, at, 128 << 10);
}

KEEP static void with_random(struct file *f)
{
    for (int i = 0; i < 2000; i++)
        read_at(f, random_page(f) * PAGE, PAGE);
}

/* Two pages that follow each other look like the beginning of more. */
KEEP static void with_pairs(struct file *f)
{
    for (int i = 0; i < 500; i++) {
        size_t page = random_page(f);
        read_at(f, page * PAGE, PAGE);
        read_at(f, (page + 1) * PAGE, PAGE);
    }
}

KEEP static void with_records(struct file *f)
{
    for (int i = 0; i < 1000; i++)
        read_at(f, random_page(f) * PAGE + 1000, 5000);
}

KEEP static void with_large(struct file *f)
{
    for (size_t at = 0; at < f->pages * PAGE; at += 1 << 20)
        read_at(f, at, 1 << 20);
}

static void touch(struct file *f, size_t page)
{
    volatile char *at = f->map + page * PAGE;
    (void)*at;
    note(f, page * PAGE, 1);
}

KEEP static void with_mapped_sequential(struct file *f)
{
    for (size_t i = 0; i < f->pages; i++)
        touch(f, i);
}

KEEP static void with_mapped_random(struct file *f)
{
    for (int i = 0; i < 500; i++)
        touch(f, random_page(f));
}

/* Without any readahead: each fault brings its page. */
KEEP static void with_mapped_advised(struct file *f)
{
    madvise(f->map, f->pages * PAGE, MADV_RANDOM);
    with_mapped_random(f);
    __asm__ volatile(""); /* no tail call */
}

/* Said to be needed, and not looked at. */
KEEP static void with_willneed(struct file *f)
{
    if (posix_fadvise(f->fd, 0, 1 << 20, POSIX_FADV_WILLNEED))
        die("posix_fadvise");
    usleep(100000);
}

KEEP static void with_write(struct file *f)
{
    static char bytes[1 << 20];
    if (pwrite(f->fd, bytes, sizeof(bytes), 0) != sizeof(bytes) || fsync(f->fd))
        die("pwrite");
}

static void evict(const struct file *f)
{
    if (fsync(f->fd) || posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED))
        die("posix_fadvise");
}

static size_t count(const unsigned char *bits, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += bits[i] & 1;
    return sum;
}

static void map_file(struct file *f)
{
    f->map = mmap(NULL, f->pages * PAGE, PROT_READ, MAP_SHARED, f->fd, 0);
    if (f->map == MAP_FAILED)
        die("mmap");
}

static void run(struct file *f, const char *name, void (*way)(struct file *))
{
    unsigned char *resident = malloc(f->pages);
    memset(f->touched, 0, f->pages);
    evict(f);
    map_file(f);
    way(f);
    if (!resident || mincore(f->map, f->pages * PAGE, resident))
        die("mincore");
    size_t there = count(resident, f->pages);
    munmap(f->map, f->pages * PAGE);
    evict(f);
    map_file(f);
    if (mincore(f->map, f->pages * PAGE, resident) || count(resident, f->pages))
        die("pages are still there");
    munmap(f->map, f->pages * PAGE);
    printf("%s %zu %zu\n", name, count(f->touched, f->pages), there);
    free(resident);
}

static struct file make_file(const char *path, size_t megabytes)
{
    struct file f = {.fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), .pages = megabytes << 8};
    char *bytes = malloc(1 << 20);
    f.touched = malloc(f.pages);
    if (f.fd < 0 || !bytes || !f.touched)
        die(path);
    memset(bytes, 1, 1 << 20);
    for (size_t i = 0; i < megabytes; i++)
        if (write(f.fd, bytes, 1 << 20) != 1 << 20)
            die("write");
    free(bytes);
    return f;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*way)(struct file *);
    } ways[] = {
        {"with_sequential", with_sequential},
        {"with_random", with_random},
        {"with_pairs", with_pairs},
        {"with_records", with_records},
        {"with_large", with_large},
        {"with_mapped_sequential", with_mapped_sequential},
        {"with_mapped_random", with_mapped_random},
        {"with_mapped_advised", with_mapped_advised},
        {"with_willneed", with_willneed},
        {"with_write", with_write},
    };
    if (argc < 3)
        return 2;
    struct file f = make_file(argv[1], (size_t)atoi(argv[2]));
    srand(1);
    if (argc > 3) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        run(&f, ways[i].name, ways[i].way);
    return 0;
}
