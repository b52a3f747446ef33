/* A service whose shares of CPU are known: 70 % in render, 30 % in encode. Without frame pointers. */
#include <stdint.h>
#include <stdio.h>

static volatile uint64_t sink;

__attribute__((noinline)) static void spin(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++)
        sink += i * i;
}

__attribute__((noinline)) static void render(void)
{
    spin(700000);
    sink++;
}

__attribute__((noinline)) static void encode(void)
{
    spin(300000);
    sink++;
}

__attribute__((noinline)) static void handle_request(void)
{
    render();
    encode();
    sink++;
}

int main(void)
{
    puts("ready");
    fflush(stdout);
    for (;;)
        handle_request();
}
