/* Reclassifies stacks that ended with no mapping: the kernel side could not read the code before the last return
 * address, because its page was never executed. This module reads it from the file. If there is no call instruction,
 * the frame was not called but set up by makecontext, and the stack is complete.
 */
#pragma once
#include "files/files.h"
#include "profile/aggregate.h"

/* Returns the cause of a stack, for aggregate_reclassify; `files` is a struct files. */
u8 reclassify_stack(void *files, const struct agg_stack *s);
