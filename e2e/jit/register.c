// A small JIT compiler: makes functions without frame pointers, outer -> middle -> leaf, and registers their unwind
// information as LLVM does, with __register_frame. After each round it replaces the code at the same address by other
// functions, with larger frames.   register ROUNDS SECONDS [memfd]: the code lies in memory that looks like a file.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

void __register_frame(void *);
void __deregister_frame(void *);

static uint8_t *at;

static void bytes(const char *b, size_t n)
{
    memcpy(at, b, n);
    at += n;
}

static void number(int64_t v, size_t n)
{
    memcpy(at, &v, n);
    at += n;
}

static void call(const uint8_t *to)
{
    bytes("\xe8", 1);
    number(to - (at + 4), 4);
}

struct functions {
    uint8_t *leaf, *middle, *outer, *end;
};

// The frame of `middle` has this size. `outer` uses rbp for something else.
static struct functions make_code(uint8_t *code, uint8_t frame)
{
    struct functions f;
    at = f.leaf = code + 64;
    bytes("\xb9", 1), number(20000, 4); // mov ecx, 20000
    bytes("\xff\xc9\x75\xfc\xc3", 5);   // dec ecx; jnz; ret
    f.middle = at;
    bytes("\x48\x83\xec", 3), number(frame, 1); // sub rsp, frame
    call(f.leaf);
    bytes("\x48\x83\xc4", 3), number(frame, 1); // add rsp, frame
    bytes("\xc3", 1);
    f.outer = at;
    bytes("\x55\xbd", 2), number(1, 4); // push rbp; mov ebp, 1
    call(f.middle);
    bytes("\x5d\xc3", 2); // pop rbp; ret
    f.end = at;
    return f;
}

static void end_entry(uint8_t *from)
{
    while ((at - from) % 8 != 4)
        bytes("", 1);
    uint32_t len = at - from - 4;
    memcpy(from, &len, 4);
}

static void fde(const uint8_t *cie, const uint8_t *start, const uint8_t *end, const char *program, size_t n)
{
    uint8_t *from = at;
    number(0, 4);
    number(at - cie, 4);
    number(start - at, 4);
    number(end - start, 4);
    number(0, 1);
    bytes(program, n);
    end_entry(from);
}

static void make_cfi(uint8_t *to, const struct functions *f, uint8_t frame)
{
    const char middle[] = {0x44, 0x0e, (char)(frame + 8), 0x49, 0x0e, 8}; // 4 bytes, then 9: CFA = rsp + frame + 8, + 8
    at = to;
    bytes("\0\0\0\0\0\0\0\0\1zR\0\1\x78\x10\1\x1b\x0c\7\x08\x90\1", 22);
    end_entry(to);
    fde(to, f->leaf, f->middle, "", 0);
    fde(to, f->middle, f->outer, middle, sizeof(middle));
    fde(to, f->outer, f->end, "\x41\x0e\x10\x86\2\x4b\x0e\x08", 8);
    number(0, 4);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

// What calls outer; its frame is unwound by the CFI of this file.
__attribute__((noinline)) void run(void (*outer)(void), double seconds)
{
    for (double until = now() + seconds; now() < until;)
        for (int i = 0; i < 100; i++)
            outer();
}

int main(int argc, char **argv)
{
    uint8_t *code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            *cfi = code + PAGE;
    if (argc > 3) {
        int fd = memfd_create("code", 0);
        if (ftruncate(fd, PAGE))
            return 1;
        mmap(code, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    }
    for (int i = 0; i < atoi(argv[1]); i++) {
        uint8_t frame = 24 + i % 4 * 16;
        mprotect(code, 2 * PAGE, PROT_READ | PROT_WRITE);
        struct functions f = make_code(code, frame);
        make_cfi(cfi, &f, frame);
        mprotect(code, PAGE, PROT_READ | PROT_EXEC);
        mprotect(cfi, PAGE, PROT_READ);
        __register_frame(cfi);
        run((void (*)(void))f.outer, atof(argv[2]));
        __deregister_frame(cfi);
    }
    return 0;
}
