/* A coroutine (makecontext, swapcontext) and its owner take turns. */
#include "burn.h"
#include <stdlib.h>
#include <ucontext.h>

static ucontext_t owner, coroutine;

static KEEP void body(void)
{
    for (;;) {
        burn(10);
        swapcontext(&coroutine, &owner);
    }
}

static KEEP void turns(int n)
{
    while (n--) {
        swapcontext(&owner, &coroutine);
        burn(10);
    }
}

int main(void)
{
    getcontext(&coroutine);
    coroutine.uc_stack.ss_size = 1 << 16;
    coroutine.uc_stack.ss_sp = malloc(1 << 16);
    makecontext(&coroutine, body, 0);
    turns(25 * (ROUNDS > 1 ? 1 << 20 : 1));
    return 0;
}
