/* signals [alt]: handlers at work, above a function that a timer interrupted and above one whose very first
 * instruction faulted; on a stack of their own if asked for.
 */
#define _GNU_SOURCE
#include "burn.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

#define FAULT_BYTES 2 /* length of the instruction that faults */

void fault(const int *at);

/* Whoever looks up fault() one byte too low finds neighbour(), and 64 bytes of stack that are not there. */
__asm__(
    ".text\n"
    ".type neighbour,@function\n"
    "neighbour: .cfi_startproc\n"
    ".cfi_def_cfa_offset 64\n"
    "nop\n"
    ".cfi_endproc\n"
    ".size neighbour,.-neighbour\n"
    ".globl fault\n"
    ".type fault,@function\n"
    "fault: .cfi_startproc\n"
    "mov (%rdi),%eax\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size fault,.-fault\n");

static KEEP void on_timer(int signal)
{
    burn(3);
    STAY;
}

static KEEP void on_fault(int signal, siginfo_t *info, void *context)
{
    burn(20);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += FAULT_BYTES;
}

static KEEP void interrupted(long ms)
{
    for (long end = cpu_ms() + ms; cpu_ms() < end;)
        spin(100000);
}

static KEEP void outer(long ms)
{
    interrupted(ms);
    STAY;
}

static KEEP void faulting(int times)
{
    while (times--)
        fault(NULL);
}

int main(int argc, char **argv)
{
    int on_stack = argc > 1 ? SA_ONSTACK : 0;
    stack_t stack = {.ss_size = 1 << 16, .ss_sp = malloc(1 << 16)};
    struct sigaction timer = {.sa_handler = on_timer, .sa_flags = on_stack | SA_RESTART};
    struct sigaction segv = {.sa_sigaction = on_fault, .sa_flags = on_stack | SA_SIGINFO};
    struct itimerval every = {{0, 8000}, {0, 8000}}, never = {{0, 0}, {0, 0}};
    if (on_stack)
        sigaltstack(&stack, NULL);
    sigaction(SIGVTALRM, &timer, NULL);
    sigaction(SIGSEGV, &segv, NULL);
    setitimer(ITIMER_VIRTUAL, &every, NULL);
    outer(400l * ROUNDS);
    setitimer(ITIMER_VIRTUAL, &never, NULL);
    faulting(10);
    return 0;
}
