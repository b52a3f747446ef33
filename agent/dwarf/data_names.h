/* Names of variables in a file, by offset: from .symtab and .dynsym. Locks are among them. */
#pragma once
#include "elf/elf.h"

struct data_name {
    u64 address;      /* link-time; the offset itself if no segment has it */
    const char *name; /* inside the file, `len` bytes, not terminated; NULL: none */
    u32 len;
    u64 into; /* bytes from the start of the variable */
};

/* For n offsets, in any order, that count on beyond the end of the file in .bss. `more`: a file whose .symtab has the
 * same addresses, or NULL. Returns 0 or -ENOMEM. */
int data_names_find(const struct elf_file *e, const struct elf_file *more, const u64 *offsets, size_t n,
                    struct data_name *out);
