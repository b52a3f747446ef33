/* Variables: of .data and .bss, global and not, one inside of an array, one that is thread-local. */
#define USED __attribute__((used))

USED static int in_data = 1;
USED static struct {
    long words[4];
} table[8];
USED int in_bss;
USED static int in_namespace __asm__("_ZN2ns4lockE");
USED static int of_function __asm__("lock.0");
USED __thread int thread_local_lock;
USED static int far[4096];
USED static int last_one;
