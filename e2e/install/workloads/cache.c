/* A service that remembers too much: `remember` keeps each answer, half a megabyte per second; what `answer` needs it
 * gives back. It reads a file and writes another one, and speaks to itself by a socket. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct entry {
    struct entry *next;
    char text[64 << 10];
};
static struct entry *entries;

__attribute__((noinline)) static void remember(const char *text)
{
    struct entry *e = malloc(sizeof(*e));
    if (!e)
        return;
    memset(e->text, text[0], sizeof(e->text));
    e->next = entries;
    entries = e;
}

__attribute__((noinline)) static void answer(int sockets[2])
{
    char *text = malloc(256 << 10);
    if (!text)
        return;
    memset(text, 'x', 256 << 10);
    if (write(sockets[0], text, 4096) == 4096 && read(sockets[1], text, 4096) == 4096)
        remember(text);
    free(text);
}

__attribute__((noinline)) static void account(int log)
{
    char block[4096] = "";
    int in = open("/proc/self/exe", O_RDONLY);
    while (in >= 0 && read(in, block, sizeof(block)) > 0)
        ;
    close(in);
    if (pwrite(log, block, sizeof(block), 0) < 0)
        perror("log");
}

/* What grows and is returned at once, whatever malloc keeps. */
__attribute__((noinline)) static void sort(void)
{
    const size_t size = 4 << 20;
    char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return;
    memset(area, 'x', size);
    munmap(area, size);
}

int main(void)
{
    int sockets[2], log = open("/tmp/cache.log", O_CREAT | O_WRONLY, 0600);
    if (log < 0)
        log = open("/dev/null", O_WRONLY);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
        return 1;
    for (unsigned i = 0;; i++) {
        answer(sockets);
        account(log);
        if (i % 8 == 0)
            sort();
        usleep(125000);
        if (i == 2400) /* five minutes: 150 MB */
            return 0;
    }
}
