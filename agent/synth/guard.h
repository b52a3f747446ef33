/* Detects files whose code does not follow the psABI, where an apparent proof would be a coincidence. */
#pragma once
#include "synth/code.h"

/* Tells whether the file was compiled with other conventions. SYNTH_DROP_NOT: no sign of that. */
enum synth_drop guard_foreign(const struct elf_file *e);
/* The same for GHC, which only the code itself shows: all of the gaps are read. */
bool guard_is_ghc(const struct code *c);
/* Tells whether most of the code is not covered, and less than half of that is proven, by regions and by bytes. */
bool guard_unlikely(const struct code *c, const struct synth_counts *n);
