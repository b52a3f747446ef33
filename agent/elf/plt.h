/* Names PLT stubs, which have no symbols: "memcpy@plt". A stub jumps through a slot of the GOT, and the relocation of
 * that slot says whose it is (System V ABI, AMD64 supplement, section 5.2 "Procedure Linkage Table"), so no order of
 * stubs is assumed: .plt, .plt.sec (IBT) and .plt.got are all read alike.
 */
#pragma once
#include "base/buf.h"
#include "elf/elf.h"

struct plt; /* the slots of a file, by address */

/* 0; -ENODATA: it has no stubs; -ENOMEM. Points into the file. */
int plt_read(struct plt **out, const struct elf_file *e);
void plt_free(struct plt **p);
/* The symbol whose stub lies at this address; *len bytes, not terminated, any bytes; *start: the stub's first byte.
 * NULL: no stub is there, or it is nobody's by name (an ifunc of the file itself). */
const char *plt_find(const struct plt *p, u64 address, size_t *len, u64 *start);
