/* host LIBRARY SECONDS: calls Go's Work for so much CPU time. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    void *lib = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*work)(int) = lib ? (int (*)(int))dlsym(lib, "Work") : NULL;
    int sum = 0;
    while (work && clock() < atof(argv[2]) * CLOCKS_PER_SEC)
        sum += work(14);
    return sum == 0;
}
