#include "base/queue.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#define ITEMS 2000

static void *put_all(void *arg)
{
    static char items[ITEMS];
    for (size_t i = 0; i < ITEMS;) {
        if (queue_put(arg, &items[i]))
            usleep(10); /* full */
        else
            i++;
    }
    return items;
}

static void *close_soon(void *arg)
{
    usleep(20000);
    queue_close(arg);
    return NULL;
}

/* Everything arrives, in its order, although the queue is small. */
TEST(queue_between_threads)
{
    CLEANUP(queue_free) struct queue *q = NULL;
    pthread_t thread;
    char *got[ITEMS] = {NULL};
    void *items = NULL;
    CHECK_EQ(queue_new(&q, 3), 0);
    CHECK_EQ(pthread_create(&thread, NULL, put_all, q), 0);
    for (size_t i = 0; i < ITEMS; i++)
        got[i] = queue_get(q, 10000);
    pthread_join(thread, &items);
    for (size_t i = 0; i < ITEMS; i++)
        CHECK(got[i] == (char *)items + i);
    CHECK_EQ(queue_len(q), 0);
}

TEST(queue_waits_as_long_as_it_is_told)
{
    CLEANUP(queue_free) struct queue *q = NULL;
    CHECK_EQ(queue_new(&q, 1), 0);
    uint64_t start = now_ns();
    CHECK(!queue_get(q, 30));
    CHECK(now_ns() - start >= 29000000);
    CHECK(!queue_get(q, 0));
}

/* Who waits for ever wakes up; what was put before is still handed out. */
TEST(queue_that_is_closed)
{
    CLEANUP(queue_free) struct queue *q = NULL;
    pthread_t thread;
    int item;
    CHECK_EQ(queue_new(&q, 2), 0);
    CHECK(!queue_closed(q));
    CHECK_EQ(pthread_create(&thread, NULL, close_soon, q), 0);
    void *none = queue_get(q, -1);
    pthread_join(thread, NULL);
    CHECK(!none && queue_closed(q));
    CHECK_EQ(queue_put(q, &item), -ENOSPC);

    CLEANUP(queue_free) struct queue *left = NULL;
    CHECK_EQ(queue_new(&left, 2), 0);
    CHECK_EQ(queue_put(left, &item), 0);
    CHECK_EQ(queue_len(left), 1);
    queue_close(left);
    CHECK(queue_get(left, -1) == &item);
    CHECK(!queue_get(left, -1));
}
