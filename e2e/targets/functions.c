/* Calls functions a known number of times:   functions [go]
 * With an argument it says "ready" first, and waits for a line. */
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long done;

NOINLINE long weigh(const char *what, long pounds)
{
    done += pounds;
    return (long)strlen(what) - 5;
}

NOINLINE void apples(void)
{
    for (long i = 1; i <= 100; i++)
        weigh("apples", i);
    done++;
}

NOINLINE void pears(void)
{
    for (int i = 0; i < 50; i++)
        weigh("pear", -7);
    done++;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    apples();
    pears();
    return 0;
}
