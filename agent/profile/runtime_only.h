/* Leaves frames of a runtime (Java, Python) in the stacks that have any, and what a thread waited for: native frames of
 * the runtime itself and the kernel's are omitted. Other stacks stay as they are. */
#pragma once
#include "profile/profile.h"

void profile_runtime_only(struct profile *p);
