/* Asks the kernel what an address in it is called, one at a time, without reading /proc/kallsyms (Linux 5.13).
 */
#pragma once
#include "bpf/types.h"
#include <stddef.h>

struct address_namer;

/* Loads the program. Returns 0; -EPERM; -EINVAL: the kernel is older; or another -errno. */
int address_namer_new(struct address_namer **out);
void address_namer_free(struct address_namer **a);
/* Writes "NAME+0xOFFSET/0xSIZE [MODULE]", or "0xADDRESS" for one without a name. Returns 0, -ENOSPC or another
 * -errno. */
int address_namer_find(struct address_namer *a, u64 address, char *text, size_t len);
