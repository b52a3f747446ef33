/* Where a probe at the beginning of a function costs least. */
#pragma once
#include "elf/elf.h"

/* Returns how far behind the start of the function at this link-time address the probe is cheap and sees the same
 * arguments and the same return address: 0 if that is nowhere. */
u64 elf_cheap_place(const struct elf_file *e, u64 vaddr);
/* Whether a probe at an instruction is cheap: the kernel emulates the instruction instead of stepping over it. */
bool elf_is_cheap(const struct elf_file *e, u64 vaddr);
