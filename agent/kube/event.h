/* Posts a warning about a pod as `kubectl describe pod` shows it (Event of core/v1). */
#pragma once
#include "kube/access.h"

struct event;

/* Everything is copied. `node`: which node says so; NULL: none. 0 or -ENOMEM. */
int event_new(struct event **out, const char *node, const struct kube_pod *pod, const char *reason,
              const char *message);
void event_free(struct event **e);
/* Waits for the answer, 10 s at most. 0, -EPERM: forbidden, -EIO: refused, or what access_call returns. */
int event_post(const struct event *e, struct access *to);
