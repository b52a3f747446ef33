#include "base/closer.h"
#include "base/queue.h"
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define WAITING 16384 /* descriptors */

struct closer {
    struct queue *queue; /* of descriptors plus 1, as pointers */
    pthread_t threads[CLOSER_THREADS];
    unsigned started;
};

static void *run(void *queue)
{
    for (;;) {
        void *item = queue_get(queue, -1);
        if (!item)
            return NULL;
        close((int)((intptr_t)item - 1));
    }
}

int closer_new(struct closer **out)
{
    struct closer *c = calloc(1, sizeof(*c));
    if (!c || queue_new(&c->queue, WAITING)) {
        free(c);
        return -ENOMEM;
    }
    *out = c;
    return 0;
}

void closer_put(struct closer *c, int fd)
{
    if (fd < 0)
        return;
    if (c->started < CLOSER_THREADS && !pthread_create(&c->threads[c->started], NULL, run, c->queue))
        c->started++;
    if (!c->started || queue_put(c->queue, (void *)((intptr_t)fd + 1)))
        close(fd);
}

void closer_free(struct closer **cc)
{
    struct closer *c = *cc;
    if (!c)
        return;
    queue_close(c->queue);
    for (unsigned i = 0; i < c->started; i++)
        pthread_join(c->threads[i], NULL);
    queue_free(&c->queue);
    free(c);
    *cc = NULL;
}
