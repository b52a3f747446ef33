/* Detects files whose code does not follow the psABI, where an apparent proof would be a coincidence. */
#pragma once
#include "synth/code.h"

/* Compiled by something with conventions of its own? SYNTH_DROP_NOT: not as far as can be seen. */
enum synth_drop guard_foreign(const struct elf_file *e);
/* Most of the code is not covered, and less than half of it is proven, by regions and by bytes. */
bool guard_unlikely(const struct code *c, const struct synth_counts *n);
