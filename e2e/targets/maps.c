/* maps N: burns CPU in a process with that many mappings, every second one executable, and a function in the last. */
#define _GNU_SOURCE
#include "burn.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret: code of no file that calls the function it is given. */
static const unsigned char caller[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

static KEEP void work(void)
{
    burn(20);
    STAY;
}

int main(int argc, char **argv)
{
    size_t n = strtoul(argv[1], NULL, 10);
    char *area = mmap(NULL, n * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (argc != 2 || area == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < n; i += 2)
        if (mprotect(area + i * PAGE, PAGE, PROT_READ | PROT_EXEC))
            return perror("mprotect"), 1;
    char *last = area + (n - 2) / 2 * 2 * PAGE;
    mprotect(last, PAGE, PROT_READ | PROT_WRITE);
    memcpy(last, caller, sizeof(caller));
    mprotect(last, PAGE, PROT_READ | PROT_EXEC);
    for (int i = 0; i < 100; i++)
        ((void (*)(void (*)(void)))last)(work);
    return 0;
}
