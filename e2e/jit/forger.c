/* Runs code of no file, beside a perf map that somebody else may have put there: forger MILLISECONDS. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* mov rax, rdi; 1: dec rax; jnz 1b; ret */
static const unsigned char code[] = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};

int main(int argc, char **argv)
{
    long end = argc > 1 ? atol(argv[1]) : 300;
    struct timespec t;
    void *where = mmap((void *)0x200000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    void (*spin)(uint64_t) = (void (*)(uint64_t))where;
    if (where == MAP_FAILED)
        return 1;
    memcpy(where, code, sizeof(code));
    do {
        spin(1000000);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < end);
    return 0;
}
