/* A bounded queue that passes objects between two threads. The receiver owns each object; nothing is shared afterwards.
 * Putting never blocks: a full queue says so, and the caller counts the drop.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue;

int queue_new(struct queue **out, size_t capacity);
void queue_free(struct queue **q); /* must be empty of objects that somebody owns */
/* 0, or -ENOSPC when full: the caller keeps the object. */
int queue_put(struct queue *q, void *item);
/* The oldest item, waiting up to timeout_ms (0 = not at all, < 0 = for ever); NULL when there is none or it was closed.
 */
void *queue_get(struct queue *q, int timeout_ms);
/* Wakes every waiter; later puts fail, later gets hand out what is left. */
void queue_close(struct queue *q);
bool queue_closed(struct queue *q);
size_t queue_len(struct queue *q);
