/* Records which functions a test enters: linked into the build of the unit tests with -finstrument-functions that
 * tools/mutate.py makes. The file that $MUTATE_COVER names gets one byte for each byte of the program's text; it is
 * shared, because processes that a test starts count for the test: one that was only forked may not write any longer,
 * and one that executes the program again has no environment, but the descriptor.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define DESCRIPTOR 999
#define HIDDEN     __attribute__((no_instrument_function))

extern char __executable_start[], etext[];
void __cyg_profile_func_enter(void *function, void *caller) HIDDEN;
void __cyg_profile_func_exit(void *function, void *caller) HIDDEN;
static void cover_open(void) HIDDEN;

static char *entered;

__attribute__((constructor(101))) static void cover_open(void)
{
    const char *path = getenv("MUTATE_COVER");
    size_t size = (size_t)(etext - __executable_start);
    int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd >= 0 && (ftruncate(fd, (off_t)size) < 0 || dup2(fd, DESCRIPTOR) < 0))
        return;
    entered = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, DESCRIPTOR, 0);
    if (entered == MAP_FAILED)
        entered = NULL;
    if (fd >= 0)
        close(fd);
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (entered && (char *)function < etext)
        entered[(char *)function - __executable_start] = 1;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}
