#include "base/queue.h"
#include "base/clock.h"
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    size_t head, n, cap;
    bool closed;
    void *items[];
};

int queue_new(struct queue **out, size_t capacity)
{
    struct queue *q = calloc(1, sizeof(*q) + capacity * sizeof(void *));
    if (!q)
        return -ENOMEM;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->filled, &attr);
    pthread_condattr_destroy(&attr);
    q->cap = capacity;
    *out = q;
    return 0;
}

void queue_free(struct queue **q)
{
    if (!*q)
        return;
    pthread_mutex_destroy(&(*q)->lock);
    pthread_cond_destroy(&(*q)->filled);
    free(*q);
    *q = NULL;
}

int queue_put(struct queue *q, void *item)
{
    int rc = -ENOSPC;
    pthread_mutex_lock(&q->lock);
    if (q->n < q->cap && !q->closed) {
        q->items[(q->head + q->n++) % q->cap] = item;
        pthread_cond_signal(&q->filled);
        rc = 0;
    }
    pthread_mutex_unlock(&q->lock);
    return rc;
}

/* With the lock held: waits until there is an item, the queue is closed or the time is up. */
static void wait_filled(struct queue *q, int timeout_ms)
{
    uint64_t until = now_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000;
    struct timespec at = {.tv_sec = (time_t)(until / NS_PER_SEC), .tv_nsec = (long)(until % NS_PER_SEC)};
    int rc = 0;
    while (!q->n && !q->closed && rc != ETIMEDOUT)
        rc = timeout_ms < 0 ? pthread_cond_wait(&q->filled, &q->lock)
                            : pthread_cond_timedwait(&q->filled, &q->lock, &at);
}

void *queue_get(struct queue *q, int timeout_ms)
{
    void *item = NULL;
    pthread_mutex_lock(&q->lock);
    if (timeout_ms)
        wait_filled(q, timeout_ms);
    if (q->n) {
        item = q->items[q->head];
        q->head = (q->head + 1) % q->cap;
        q->n--;
    }
    pthread_mutex_unlock(&q->lock);
    return item;
}

void queue_close(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_cond_broadcast(&q->filled);
    pthread_mutex_unlock(&q->lock);
}

bool queue_closed(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool closed = q->closed;
    pthread_mutex_unlock(&q->lock);
    return closed;
}

size_t queue_len(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    size_t n = q->n;
    pthread_mutex_unlock(&q->lock);
    return n;
}
