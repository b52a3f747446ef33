/* Allocates at 2^16 distinct call paths, one block each, and holds them all until its end. */
#include <stdlib.h>

#define KEEP __attribute__((noinline, noclone))
#define BITS 16

static void *volatile last;

KEEP static void path(unsigned bits, unsigned left);

KEEP static void even(unsigned bits, unsigned left)
{
    path(bits, left);
    __asm__ volatile("");
}

KEEP static void odd(unsigned bits, unsigned left)
{
    path(bits, left);
    __asm__ volatile("");
}

KEEP static void path(unsigned bits, unsigned left)
{
    if (!left)
        last = malloc(100);
    else if (bits & 1)
        odd(bits >> 1, left - 1);
    else
        even(bits >> 1, left - 1);
    __asm__ volatile("");
}

int main(void)
{
    for (unsigned i = 0; i < 1u << BITS; i++)
        path(i, BITS);
    return 0;
}
