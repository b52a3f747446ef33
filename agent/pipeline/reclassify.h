/* Reclassifies stacks that ended with no mapping: the kernel side could not see the code in front of the last return
 * address, because nothing there ever ran. The file has it: if there is no call, nobody called that frame, makecontext
 * planted it, and the stack begins there.
 */
#pragma once
#include "files/files.h"
#include "profile/aggregate.h"

/* The cause of a stack, for aggregate_reclassify; `files` is a struct files. */
u8 reclassify_stack(void *files, const struct agg_stack *s);
