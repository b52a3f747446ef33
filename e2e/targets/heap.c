/* Allocates on 20 call paths in 8 threads, in all ways that C has, and frees in any thread. Keeps books of its own and
 * prints them at the end, a line per path: PATH ALLOC_OBJECTS ALLOC_BYTES INUSE_OBJECTS INUSE_BYTES.
 *
 *     heap ROUNDS [SECONDS]    SECONDS: holds blocks, and waits, before it begins to keep books; they go meanwhile
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATHS = 20, THREADS = 8, SLOTS = 512, OLD = 64 };

struct book {
    uint64_t objects, bytes, held_objects, held_bytes;
};
struct slot { /* a block that any thread may free or change */
    pthread_mutex_t lock;
    void *block;
    size_t size;
    int path; /* -1: in no book */
};
static struct book books[PATHS];
static struct slot slots[SLOTS];
static uint64_t rounds;
static int has_pvalloc; /* not every allocator has it: the C library's would be another heap */

static void put(uint64_t *to, uint64_t n)
{
    __atomic_add_fetch(to, n, __ATOMIC_RELAXED);
}

static void gone(struct slot *s)
{
    if (s->block && s->path >= 0) {
        put(&books[s->path].held_objects, -1ull);
        put(&books[s->path].held_bytes, -(uint64_t)s->size);
    }
    s->block = NULL;
}

static void got(struct slot *s, void *block, size_t size, int path)
{
    *(void **)&s->block = block;
    s->size = size;
    s->path = path;
    if (!block)
        return;
    put(&books[path].objects, 1);
    put(&books[path].bytes, size);
    put(&books[path].held_objects, 1);
    put(&books[path].held_bytes, size);
}

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void renew(struct slot *s, void *block, size_t size, int path)
{
    if (!block && size) /* the old one is still there */
        return;
    gone(s);
    got(s, block, size, path);
}

/* Calls that fail count nowhere. */
static void fail_to_allocate(struct slot *s)
{
    void *volatile none = NULL;
    volatile size_t huge = SIZE_MAX / 2, odd = 3;
    none = malloc(huge);
    none = calloc(huge, 4);
    if (s->block)
        none = realloc(s->block, huge);
    if (posix_memalign((void **)&none, odd, 64) != EINVAL || none)
        abort();
}

static void allocate(struct slot *s, size_t size, int path, uint64_t how)
{
    void *p = NULL;
    switch (how % 10) {
    case 0:
        p = calloc(size / 8, 8);
        size = size / 8 * 8;
        break;
    case 1:
        if (posix_memalign(&p, 64, size))
            p = NULL;
        break;
    case 2:
        p = aligned_alloc(32, size);
        break;
    case 3:
        p = memalign(128, size);
        break;
    case 4:
        p = malloc(size = 0);
        break;
    case 5:
        p = realloc(NULL, size);
        break;
#ifdef __GLIBC__
    case 6:
        p = valloc(size);
        break;
    case 7:
        p = has_pvalloc ? pvalloc(size) : malloc(size);
        break;
#endif
    default:
        p = malloc(size);
    }
    got(s, p, size, path);
}

__attribute__((noinline)) static void operate(int path, uint64_t *seed)
{
    uint64_t how = draw(seed), size = draw(seed) % (1u << (4 + draw(seed) % 10)) + 8;
    struct slot *s = &slots[draw(seed) % SLOTS];
    pthread_mutex_lock(&s->lock);
    if (how % 16 == 0) {
        fail_to_allocate(s);
    } else if (!s->block) {
        allocate(s, size, path, draw(seed));
    } else if (how % 16 == 1) {
        void *p = realloc(s->block, 0); /* glibc: frees; others: a block of no bytes */
        renew(s, p, 0, path);
    } else if (how % 16 < 5) {
        renew(s, realloc(s->block, size), size, path);
    } else if (how % 16 == 5) {
        renew(s, reallocarray(s->block, size / 4, 4), size / 4 * 4, path);
    } else {
        free(s->block);
        gone(s);
    }
    pthread_mutex_unlock(&s->lock);
}

#define PATH(n)                                                        \
    __attribute__((noinline)) static void path_##n(uint64_t *seed)     \
    {                                                                  \
        operate(n, seed);                                              \
        __asm__ volatile("" ::: "memory"); /* not a jump to operate */ \
    }
#define TEN(x, d) x(d##0) x(d##1) x(d##2) x(d##3) x(d##4) x(d##5) x(d##6) x(d##7) x(d##8) x(d##9)
#define CALL(n)   path_##n,
TEN(PATH, ) TEN(PATH, 1) static void (*const paths[PATHS])(uint64_t *seed) = {TEN(CALL, ) TEN(CALL, 1)};

static void *work(void *number)
{
    uint64_t seed = 88172645463325252ull + 977 * (uintptr_t)number;
    for (uint64_t i = 0; i < rounds; i++)
        paths[draw(&seed) % PATHS](&seed);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    rounds = strtoull(argc > 1 ? argv[1] : "1000", NULL, 10);
    has_pvalloc = !getenv("LD_PRELOAD");
    for (size_t i = 0; i < SLOTS; i++)
        pthread_mutex_init(&slots[i].lock, NULL);
    for (size_t i = 0; i < OLD && seconds; i++) { /* from before: they may go, or grow, but never were allocated */
        slots[i].block = malloc(100 + i);
        slots[i].path = -1;
    }
    sleep(seconds);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < PATHS; i++)
        printf("path_%d %llu %llu %llu %llu\n", i, (unsigned long long)books[i].objects,
               (unsigned long long)books[i].bytes, (unsigned long long)books[i].held_objects,
               (unsigned long long)books[i].held_bytes);
    fflush(stdout);
    sleep(seconds);
    return 0;
}
