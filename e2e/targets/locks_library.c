/* A lock in .bss of a library, beyond the pages of its .data (locks.c). */
#include <pthread.h>

static struct {
    char before[8192];
} in_bss;
pthread_mutex_t locks_in_library;

char *locks_before(void)
{
    return in_bss.before;
}
