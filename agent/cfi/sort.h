/* Sorts FDEs by start; the sort is stable. Linkers write them nearly sorted, or in long sorted runs. */
#pragma once
#include "cfi/cfi.h"

/* n >= 1. *fdes is owned and may be replaced. Returns 0 or -ENOMEM. */
int cfi_sort(struct cfi_fde **fdes, size_t n);
