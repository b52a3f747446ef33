/* A thread that sleeps right after the start of the program, until its end, deeper in its stack than what is copied of
 * a stack whose tables are still to be built. */
#include "burn.h"
#include <string.h>
#include <time.h>

static KEEP void nap(void)
{
    struct timespec t = {1, 500000000};
    nanosleep(&t, NULL);
    STAY;
}

static KEEP int deep(int n)
{
    volatile char room[20000];
    memset((char *)room, n, sizeof(room));
    nap();
    return room[n];
}

int main(int argc, char **argv)
{
    return deep(argc) == 0;
}
