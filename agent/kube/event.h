/* Posts a warning about a pod as `kubectl describe pod` shows it (Event of core/v1). */
#pragma once
#include "kube/access.h"

struct event;

/* Copies everything. `node` is the node that reports the event; NULL: none. Returns 0 or -ENOMEM. */
int event_new(struct event **out, const char *node, const struct kube_pod *pod, const char *reason,
              const char *message);
void event_free(struct event **e);
/* Waits for the response, for at most 10 s. Returns 0; -EPERM: forbidden; -EIO: refused; or the error of
 * access_call. */
int event_post(const struct event *e, struct access *to);
