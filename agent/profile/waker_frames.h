/* Makes the frames of wakers readable, once they have names: leaves out how a program of ours got there, and, of a
 * wake-up by an interrupt, the task that was interrupted, which had nothing to do with it.
 */
#pragma once
#include "profile/profile.h"

/* What a kernel function says about a waker. */
enum waker_function {
    WAKER_OTHER,
    WAKER_TRACING,   /* eBPF, and what calls it */
    WAKER_INTERRUPT, /* the way into an interrupt */
};
u8 waker_function(const char *name);

/* A stack whose first frames are those of a waker. */
struct waker_place {
    u32 stack; /* row of profile.stacks */
    u32 n;     /* frames of the waker: up to the cause of the wait */
};
/* Trims the stacks, and merges neighbours that are equal then. `interrupt`: the location that takes the place of the
 * interrupted task. Returns 0 or -ENOMEM. */
int waker_frames_trim(struct profile *p, const struct waker_place *places, size_t n, u32 interrupt);
