/* Makes tables of the CFI that was found: one for each mapping of generated code. */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "generated/sections.h"

struct region {
    u64 start, end;
    struct xp_table *image; /* owned */
    size_t len;
};
struct regions {
    VEC(struct region) list; /* ascending */
};

/* Makes at most `max` of them. Returns 0 or -ENOMEM. Where sections contradict each other, the first one is believed.
 */
int regions_build(struct regions *out, const struct memory *m, const struct sections *s, size_t max);
void regions_free(struct regions *r);
