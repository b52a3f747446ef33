/* A library between a program and what it waits in: built without frame pointers, with frames of changing size. */
#include <alloca.h>
#include <string.h>

__attribute__((noinline, noipa)) void lib_call(void (*wait)(void), int depth)
{
    char *room = alloca(64 * (unsigned long)depth + 16);
    memset(room, depth, 16);
    if (depth)
        lib_call(wait, depth - 1);
    else
        wait();
    __asm__ volatile("" : : "r"(room) : "memory");
}
