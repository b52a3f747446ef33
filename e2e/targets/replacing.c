/* Executes itself several times in a row, and then holds blocks most of the time; in the end, it has freed all.
 *
 *     replacing TIMES SECONDS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 2000

static void *volatile blocks[BLOCKS];
static volatile int ends;

static void __attribute__((noinline)) hold(void)
{
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(1000);
    usleep(100000);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

/* Its calls show at once which program the process runs by now. */
static void *call(void *unused)
{
    while (!ends) {
        void *volatile block = malloc(10);
        free(block);
        usleep(100);
    }
    return unused;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 0, seconds = argc > 2 ? atoi(argv[2]) : 0;
    time_t end = time(NULL) + seconds;
    pthread_t caller;
    char left[16];
    if (times) {
        snprintf(left, sizeof(left), "%d", times - 1);
        execl(argv[0], argv[0], left, argv[2], NULL);
        return 1;
    }
    pthread_create(&caller, NULL, call, NULL);
    while (time(NULL) < end)
        hold();
    ends = 1;
    pthread_join(caller, NULL);
    return 0;
}
