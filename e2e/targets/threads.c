/* Eight threads at work. */
#include "burn.h"
#include <pthread.h>

static KEEP void *work(void *arg)
{
    burn(150l * ROUNDS);
    return arg;
}

int main(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
