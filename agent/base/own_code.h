/* Code of this program, for probes of its own functions. */
#pragma once
#include <stdint.h>

/* Returns where the code at an address is in the file of this program (/proc/self/exe); 0: it is not in there. */
uint64_t own_code_offset(uintptr_t address);
