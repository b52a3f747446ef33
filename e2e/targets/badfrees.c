/* Frees what it must not, in one of many ways: alloc_N allocates, first_N frees, wrong_N frees wrongly.
 *
 *     badfrees N [SECONDS]    SECONDS: waits before; 0: does nothing wrong, but all that is like it
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART   __attribute__((noinline, noclone))
#define KEEP(p) __asm__ volatile("" : "+r"(p)::"memory")

#define STEP(name, call)             \
    APART static void *name(void *p) \
    {                                \
        KEEP(p);                     \
        call;                        \
        KEEP(p);                     \
        return p;                    \
    }

STEP(alloc_1, p = malloc(100))
STEP(first_1, free(p))
STEP(wrong_1, free(p))
STEP(alloc_2, p = calloc(3, 1000))
STEP(first_2, free(p))
STEP(wrong_2, free(p))
STEP(alloc_3, p = malloc(10 << 20))
STEP(first_3, free(p))
STEP(wrong_3, free(p))
STEP(alloc_4, p = malloc(1000))
STEP(wrong_4, free(p))
STEP(alloc_5, p = malloc(5000))
STEP(first_5, free(p))
STEP(wrong_5, p = realloc(p, 9000))
STEP(alloc_6, p = malloc(300))
STEP(first_6, free(p))
STEP(wrong_6, free(p))
STEP(alloc_7, p = memalign(4096, 8000))
STEP(first_7, free(p))
STEP(wrong_7, free(p))
STEP(alloc_8, p = malloc(64))
STEP(wrong_8, free((char *)p + 16))
STEP(alloc_9, p = malloc(3 << 20))
STEP(wrong_9, free((char *)p + (1 << 20)))
STEP(wrong_10, free(p))
STEP(wrong_11, free(p))
STEP(wrong_12, free(p))
STEP(wrong_13, free(p))
STEP(alloc_14, p = malloc(700))
STEP(first_14, p = realloc(p, 0))
STEP(wrong_14, free(p))

APART static void *first_4(void *p) /* the new block is elsewhere */
{
    void *q = realloc(p, 2 << 20);
    KEEP(q);
    return p;
}

static char variable[64] = "variable";

static void *on_own_stack(void *arg)
{
    char local[64];
    void *p = local;
    KEEP(p);
    wrong_12(p);
    return arg;
}

static void run_in_thread(void *(*what)(void *), void *arg)
{
    pthread_t thread;
    if (!pthread_create(&thread, NULL, what, arg))
        pthread_join(thread, NULL);
}

static void do_wrong(int n)
{
    static void *(*const steps[][3])(void *) = {
        [1] = {alloc_1, first_1, wrong_1}, [2] = {alloc_2, first_2, wrong_2}, [3] = {alloc_3, first_3, wrong_3},
        [4] = {alloc_4, first_4, wrong_4}, [5] = {alloc_5, first_5, wrong_5}, [7] = {alloc_7, first_7, wrong_7},
    };
    void *p = NULL, *between;
    char local[64];
    switch (n) {
    case 6: /* elsewhere, and with others in between */
        p = alloc_6(NULL);
        between = malloc(300);
        run_in_thread(first_6, p);
        free(between);
        run_in_thread(wrong_6, p);
        break;
    case 8:
        wrong_8(alloc_8(NULL));
        break;
    case 9:
        wrong_9(alloc_9(NULL));
        break;
    case 10:
        p = local;
        wrong_10(p);
        break;
    case 11:
        wrong_11((void *)(uintptr_t)do_wrong);
        break;
    case 12:
        run_in_thread(on_own_stack, NULL);
        break;
    case 13:
        wrong_13(variable);
        break;
    case 14:
        p = alloc_14(NULL);
        first_14(p);
        wrong_14(p);
        break;
    default:
        p = steps[n][0](NULL);
        steps[n][1](p);
        steps[n][2](p);
    }
}

/* Nothing of this is wrong. */
static void *held[1000];
static void do_right(void)
{
    for (int i = 0; i < 20000; i++) {
        void **at = &held[(unsigned)rand() % 1000], *p = NULL;
        switch (rand() % 6) {
        case 0:
            free(*at);
            *at = memalign(1u << (4 + rand() % 9), (size_t)rand() % 5000);
            break;
        case 1:
            if (!posix_memalign(&p, 64, (size_t)rand() % 100000)) {
                free(*at);
                *at = p;
            }
            break;
        case 2:
            p = realloc(*at, 1 + (size_t)rand() % 300000);
            *at = p ? p : *at;
            break;
        case 3:
            p = realloc(*at, SIZE_MAX / 4); /* fails */
            *at = p ? p : *at;
            break;
        default:
            free(*at);
            *at = i % 2 ? calloc(1, (size_t)rand() % 3000) : malloc((size_t)rand() % 200000);
        }
        if (i % 200 == 0) { /* a child in the same memory allocates what was freed before */
            static void *volatile of_child;
            void *volatile before = malloc(5000);
            free(before);
            if (!vfork()) {
                of_child = malloc(5000);
                _exit(0);
            }
            free(of_child);
        }
        if (i % 2000 == 0 && !fork()) { /* the child frees what is the parent's as well */
            for (int k = 0; k < 1000; k++)
                free(held[k]);
            _exit(0);
        }
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 1000; i++)
        held[i] = malloc((size_t)i * 50);
    if (argc > 2)
        sleep((unsigned)atoi(argv[2]));
    if (n)
        do_wrong(n);
    else
        do_right();
    puts("done");
    return 0;
}
