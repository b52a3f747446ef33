// Threads that stay where they are: stacks WAITERS. One of the others burns, one naps a millisecond at a time.
#include <cstdlib>
#include <cstdio>
#include <poll.h>
#include <pthread.h>

#define KEEP __attribute__((noinline, noclone))

static volatile unsigned long sink;

namespace demo
{
static inline __attribute__((always_inline)) void innermost(int ms)
{
    poll(nullptr, 0, ms);
    sink = sink + 1;
}
static inline __attribute__((always_inline)) void between(int ms)
{
    innermost(ms);
}
KEEP void around(int ms)
{
    between(ms);
    sink = sink + 1;
}
KEEP void burn()
{
    for (;;)
        sink = sink + 1;
}
} // namespace demo

static void *waiter(void *)
{
    for (;;)
        demo::around(1000000);
}
static void *napper(void *)
{
    pthread_setname_np(pthread_self(), "napper");
    for (;;)
        demo::around(1);
}
static void *burner(void *)
{
    pthread_setname_np(pthread_self(), "burner");
    demo::burn();
    return nullptr;
}

int main(int argc, char **argv)
{
    pthread_t t;
    int n = argc > 1 ? atoi(argv[1]) : 3;
    for (int i = 0; i < n; i++)
        pthread_create(&t, nullptr, waiter, nullptr);
    pthread_create(&t, nullptr, napper, nullptr);
    pthread_create(&t, nullptr, burner, nullptr);
    puts("ready");
    fflush(stdout);
    demo::around(1000000);
}
