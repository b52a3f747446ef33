/* A known chain, main;outer;middle;inner;burn, whatever the layout of the file. PREFIX renames it; with -DFAR, middle()
 * is in a section that the linker can put into a segment of its own.
 */
#include "burn.h"
#include <stdlib.h>

#ifndef PREFIX
#define PREFIX
#endif
#define GLUE(a, b) a##b
#define JOIN(a, b) GLUE(a, b)
#define outer      JOIN(PREFIX, outer)
#define middle     JOIN(PREFIX, middle)
#define inner      JOIN(PREFIX, inner)

#ifdef FAR
#define PLACE __attribute__((section(".far_text")))
#else
#define PLACE
#endif

KEEP void inner(long ms)
{
    burn(ms);
    STAY;
}

KEEP PLACE void middle(long ms)
{
    inner(ms);
    STAY;
}

KEEP void outer(long ms)
{
    middle(ms);
    STAY;
}

int main(int argc, char **argv)
{
    outer(argc > 1 ? atol(argv[1]) : 100);
    return 0;
}
