/* Extracts a part of a profile as a separate profile: some of its stacks, one of its events, and only what these refer
 * to. An interval is symbolized once for the whole machine and then split by pod.
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
