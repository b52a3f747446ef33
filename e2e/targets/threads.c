/* Eight threads at work, each with a name of its own. */
#define _GNU_SOURCE
#include "burn.h"
#include <pthread.h>
#include <stdio.h>

static KEEP void *work(void *arg)
{
    char name[16];
    snprintf(name, sizeof(name), "worker %ld", (long)arg);
    pthread_setname_np(pthread_self(), name);
    burn(150l * ROUNDS);
    return arg;
}

int main(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, (void *)(long)i);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
