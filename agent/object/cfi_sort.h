/* FDEs by start; equal ones stay in their order. Linkers write them nearly sorted, or in long sorted runs. */
#pragma once
#include "object/cfi.h"

#define CFI_MAX_FDES (16u << 20)

/* n >= 1. *fdes is owned, and maybe replaced. 0 or -ENOMEM. */
int cfi_sort(struct cfi_fde **fdes, size_t n);
