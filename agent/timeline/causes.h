/* Says why threads waited, by the kernel functions that they waited in (profile/wait_causes.h), and what woke them up.
 */
#pragma once
#include "probe/timeline.h"
#include "timeline/store.h"

struct tl_causes;

/* `p` is borrowed, and outlives it. Returns 0 or -ENOMEM; without names of kernel functions all is "[other]". */
int causes_new(struct tl_causes **out, const struct timeline_probe *p);
void causes_free(struct tl_causes **c);
/* Returns the cause of a blocked slice, in brackets. Valid until the next call. */
const char *causes_text(struct tl_causes *c, const struct tl_store *store, const struct tl_slice *s);
/* Returns whether a kernel stack, by its key, is that of an interrupt, which the running thread has nothing to do with.
 */
bool causes_interrupt(struct tl_causes *c, u32 key);
