/* A service whose shares of CPU are known: 70 % in render, 30 % in encode. Without frame pointers. Its laps are of
 * random length, lest a sampler of a steady rate meets the same part again and again. Two more threads wait for each
 * other, and use next to no CPU. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static volatile uint64_t sink;

__attribute__((noinline)) static void spin(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++)
        sink += i * i;
}

__attribute__((noinline)) static void render(uint64_t n)
{
    spin(7 * n);
    sink++;
}

__attribute__((noinline)) static void encode(uint64_t n)
{
    spin(3 * n);
    sink++;
}

__attribute__((noinline)) static void handle_request(uint64_t n)
{
    render(n);
    encode(n);
    sink++;
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *take_turns(void *arg)
{
    for (;;) {
        pthread_mutex_lock(&turn);
        usleep(5000);
        pthread_mutex_unlock(&turn);
        usleep(1000);
    }
    return arg;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        pthread_create(&thread, NULL, take_turns, NULL);
    puts("ready");
    fflush(stdout);
    for (uint64_t random = 88172645463325252;;) { /* xorshift64 */
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        handle_request(random % 200000);
    }
}
