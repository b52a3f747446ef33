/* Names PLT stubs, which have no symbols: "memcpy@plt". A stub jumps through a slot of the GOT, and the relocation of
 * that slot names the symbol (System V ABI, AMD64 supplement, section 5.2 "Procedure Linkage Table"). So no order of
 * stubs is assumed, and .plt, .plt.sec (IBT) and .plt.got are read in the same way.
 */
#pragma once
#include "base/buf.h"
#include "elf/elf.h"

struct plt; /* the slots of a file, by address */

/* Returns 0; -ENODATA: there are no stubs; -ENOMEM. *out points into the file. */
int plt_read(struct plt **out, const struct elf_file *e);
void plt_free(struct plt **p);
/* Returns the symbol of the stub at this address: *len arbitrary bytes, not terminated. *start is set to the first byte
 * of the stub. NULL: there is no stub, or it has no symbol (an ifunc of the file itself). */
const char *plt_find(const struct plt *p, u64 address, size_t *len, u64 *start);
/* Calls `use` for each stub with a symbol, by section and address, until it returns a value other than 0; returns this
 * value, or 0. `len` is the number of bytes of the stub. */
int plt_each(const struct plt *p, int (*use)(void *arg, u64 address, u32 len, const char *name, size_t name_len),
             void *arg);
