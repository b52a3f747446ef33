/* A bounded queue that passes objects between two threads. The receiver owns each object; nothing is shared afterwards.
 * Putting never blocks: if the queue is full, it returns an error and the caller counts the drop.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue;

int queue_new(struct queue **out, size_t capacity);
void queue_free(struct queue **q); /* owned objects must be removed before */
/* 0, or -ENOSPC when full: the caller keeps the object. */
int queue_put(struct queue *q, void *item);
/* Takes the oldest item, waiting up to timeout_ms (0: do not wait, < 0: no limit). NULL: there is none, or the queue
 * was closed.
 */
void *queue_get(struct queue *q, int timeout_ms);
/* Closes the queue and wakes all waiters. Later puts fail; later gets return the remaining items. */
void queue_close(struct queue *q);
bool queue_closed(struct queue *q);
size_t queue_len(struct queue *q);
