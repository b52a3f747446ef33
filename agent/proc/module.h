/* Finds a dynamic symbol of the modules that a process has mapped, in its memory, as its dynamic linker would. */
#pragma once
#include "proc/memory.h"

struct module { /* an ELF file that is mapped from its start */
    u64 base;   /* where that is */
    u64 bias;   /* what is added to addresses of the file */
    u8 phdrs[56 * 64];
    unsigned nphdrs;
};

/* False: there is none at this address, or it cannot be read. */
bool module_read(struct memory *m, u64 base, struct module *out);
struct module_walk { /* {0} at first */
    size_t at;
    unsigned modules;
};
/* Goes to the next module that is mapped from its start. False: there are no more, or there were too many. `m` has the
 * mappings. */
bool module_next(struct memory *m, struct module_walk *w, struct module *out);
/* Returns the address of a data symbol that the module defines; 0: it has none. By DT_GNU_HASH, or
 * DT_HASH. */
u64 module_symbol(struct memory *m, const struct module *mod, const char *name);
/* The same with its size in bytes. */
u64 module_symbol_sized(struct memory *m, const struct module *mod, const char *name, u64 *size);
