/* Makes system calls and calls functions, a known number of times:   probes [go]
 * With an argument it says "ready" first, and waits for a line. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long done;

NOINLINE void open_there(void)
{
    for (int i = 0; i < 300; i++)
        close(open("/etc/hostname", O_RDONLY));
    done++;
}

NOINLINE void open_missing(void)
{
    for (int i = 0; i < 200; i++)
        open("/etc/no-such-file", O_RDONLY);
    done++;
}

NOINLINE void write_much(int fd)
{
    static char bytes[5000];
    for (int i = 1; i <= 100; i++)
        if (write(fd, bytes, (size_t)i * 50) != i * 50)
            return;
    done++;
}

NOINLINE void advise(void *page)
{
    for (int i = 0; i < 40; i++)
        syscall(SYS_madvise, page, 4096, MADV_NORMAL);
    done++;
}

NOINLINE long weigh(const char *what, long pounds)
{
    done += pounds;
    return (long)strlen(what) - 5;
}

NOINLINE void apples(void)
{
    for (long i = 1; i <= 100; i++)
        weigh("apples", i);
    done++;
}

NOINLINE void pears(void)
{
    for (int i = 0; i < 50; i++)
        weigh("pear", -7);
    done++;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    open_there();
    open_missing();
    write_much(open("/dev/null", O_WRONLY));
    advise(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    apples();
    pears();
    return 0;
}
