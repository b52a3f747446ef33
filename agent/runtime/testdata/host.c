/* Loads the shared object and has it report. */
#include <dlfcn.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    void *so = dlopen(argv[1], RTLD_NOW);
    void (*report)(int) = so ? (void (*)(int))dlsym(so, "Report") : NULL;
    if (!report)
        return 1;
    report(atoi(argv[2]));
    return 0;
}
