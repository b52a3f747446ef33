/* Stacks that a runtime took itself (XP_WORD_TOLD): they are shown as the runtime's own tools show them. */
#pragma once
#include "profile/profile.h"

/* Leaves out the frames of Go's runtime at the leaf, unless there are no others, and runtime.goexit at the root, as
 * runtime/pprof does in heap profiles (Go's src/runtime/pprof/protomem.go). Once all frames have names. */
void told_stacks_trim(struct profile *p);
