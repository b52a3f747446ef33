/* Reaches USDT probes a known number of times:   usdt [go]
 * With an argument it says "ready" first, and waits for a line. The last line says how often `guarded` was not skipped.
 *
 * The notes are those that sys/sdt.h makes, which is not everywhere.
 *
 *   xprof:swim     (1) lengths 1 to 100 in a register, the name on the stack; (2) 50 times the constant -7
 *   xprof:wide     an element of an array, by index
 *   xprof:guarded  behind a semaphore; 300 times, "guard" */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

#define NOTE(name, semaphore, arguments)                                    \
    "990: nop\n"                                                            \
    ".pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
    ".balign 4\n"                                                           \
    ".4byte 992f-991f, 994f-993f, 3\n"                                      \
    "991: .asciz \"stapsdt\"\n"                                             \
    "992: .balign 4\n"                                                      \
    "993: .8byte 990b, _.stapsdt.base, " semaphore                          \
    "\n"                                                                    \
    ".asciz \"xprof\"\n.asciz \"" name                                      \
    "\"\n"                                                                  \
    ".asciz \"" arguments                                                   \
    "\"\n"                                                                  \
    "994: .balign 4\n"                                                      \
    ".popsection\n"                                                         \
    ".ifndef _.stapsdt.base\n"                                              \
    ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
    ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                        \
    "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n"                   \
    ".popsection\n.endif\n"

static volatile long done;

/* Reads a text, so that its page is in memory. */
static const char *touched(const char *text)
{
    done += *(const volatile char *)text;
    return text;
}

__attribute__((section(".probes"), used)) volatile unsigned short guard_semaphore;

NOINLINE void rivers(void)
{
    volatile struct {
        long pad;
        const char *name;
    } river = {0, touched("danube")};
    register volatile void *at __asm__("r12") = &river;
    for (int i = 1; i <= 100; i++)
        __asm__ volatile(NOTE("swim", "0", "-4@%%ebx 8@8(%%r12)")::"b"(i), "r"(at), "m"(river));
    done++;
}

NOINLINE void lakes(void)
{
    const char *lake = touched("lake");
    for (int i = 0; i < 50; i++)
        __asm__ volatile(NOTE("swim", "0", "-4@$-7 8@%%rbx")::"b"(lake));
    done++;
}

NOINLINE void seas(void)
{
    static unsigned short depths[] = {1, 2, 4, 8, 16, 40000};
    for (long i = 0; i < 6; i++)
        __asm__ volatile(NOTE("wide", "0", "2@(%%rbx,%%rcx,2) -2@(%%rbx,%%rcx,2) 4f@%%xmm0")::"b"(depths), "c"(i),
                         "m"(depths));
    done++;
}

NOINLINE long guarded(void)
{
    const char *text = touched("guard");
    long seen = 0;
    for (int i = 0; i < 300; i++)
        if (guard_semaphore) {
            seen++;
            __asm__ volatile(NOTE("guarded", "guard_semaphore", "8@%%rbx")::"b"(text));
        }
    return seen;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    rivers();
    lakes();
    seas();
    printf("guarded %ld\n", guarded());
    return 0;
}
