/* A part of a profile as a profile of its own: some of its stacks, one of its events, and nothing that only others
 * refer to. An interval is named once for the whole machine, then taken apart into pods.
 */
#pragma once
#include "profile/profile.h"

struct subset {
    const u32 *stacks; /* rows of p->stacks, each once */
    size_t n;
    size_t event;        /* of p->events: the only one of the result; stacks without a sample of it are left out */
    bool process_frames; /* the process's name becomes the outermost frame */
};

/* Fills an empty profile. 0 or -ENOMEM: what is in `out` then is only good for profile_free. */
int profile_subset(const struct profile *p, const struct subset *s, struct profile *out);
