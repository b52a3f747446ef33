/* Allocates blocks in several threads, writes into each what only it has, and looks whether that is still there when it
 * frees them, in this thread or in another one. Goes on until SIGTERM, and prints how many blocks were right and how
 * many were not.
 *
 * Usage: keeper [MICROSECONDS between two blocks]
 */
#include <pthread.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, SLOTS = 512 };

struct block {
    size_t size;
    unsigned char mark, bytes[];
};
static _Atomic(struct block *) slots[SLOTS];
static _Atomic unsigned long right, wrong;
static volatile sig_atomic_t over;
static useconds_t pause_us;

static void end(int signal)
{
    (void)signal;
    over = 1;
}

static void look(struct block *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->size; i++) {
        if (b->bytes[i] != b->mark) {
            wrong++;
            return;
        }
    }
    right++;
    free(b);
}

static struct block *make(unsigned *seed)
{
    size_t size = (size_t)rand_r(seed) % 2000;
    struct block *b = rand_r(seed) % 3 ? malloc(sizeof(*b) + size) : calloc(1, sizeof(*b) + size);
    if (b && rand_r(seed) % 4 == 0)
        b = realloc(b, sizeof(*b) + (size *= 2));
    if (!b)
        exit(1);
    b->size = size;
    b->mark = (unsigned char)rand_r(seed);
    memset(b->bytes, b->mark, size);
    return b;
}

static void *work(void *number)
{
    unsigned seed = (unsigned)(size_t)number;
    while (!over) {
        struct block *b = make(&seed);
        look(atomic_exchange(&slots[rand_r(&seed) % SLOTS], b));
        if (pause_us)
            usleep(pause_us);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pause_us = argc > 1 ? (useconds_t)atoi(argv[1]) : 0;
    signal(SIGTERM, end);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < SLOTS; i++)
        look(slots[i]);
    printf("%lu right, %lu wrong\n", (unsigned long)right, (unsigned long)wrong);
    return 0;
}
