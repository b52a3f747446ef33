/* Closes descriptors in threads of its own, several at once. Closing a link of uprobes waits for grace periods of RCU,
 * tens of milliseconds each, which pass for all that wait at the time (kernel/events/uprobes.c).
 */
#pragma once

#define CLOSER_THREADS 64

struct closer;

int closer_new(struct closer **out); /* 0 or -ENOMEM; threads are started when they are needed */
/* Takes fd, which is closed some time later, or at once if there is no thread or no room. */
void closer_put(struct closer *c, int fd);
void closer_free(struct closer **c); /* all are closed then */
