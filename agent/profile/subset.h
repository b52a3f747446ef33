/* Extracts a part of a profile as a separate profile: some of its stacks, one of its events, and only what these refer
 * to. An interval is symbolized once for the whole machine and then split by pod.
 */
#pragma once
#include "profile/profile.h"

struct subset {
    const u32 *stacks; /* rows of p->stacks, each once */
    size_t n;
    size_t event;        /* index in p->events: the only event of the result; stacks without samples of it are left
                          * out */
    bool process_frames; /* add the process name as outermost frame */
};

/* Fills an empty profile. Returns 0; -ENOMEM: `out` is then incomplete and can only be freed. */
int profile_subset(const struct profile *p, const struct subset *s, struct profile *out);
