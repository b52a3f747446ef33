/* Reads the dynamic section through PT_DYNAMIC, which exists also when the section headers were removed. */
#pragma once
#include "elf/elf.h"

struct elf_dynamic {
    u64 hash, symtab, strtab; /* addresses; 0: not there */
    u64 init, fini;
    u64 strsz;
};

/* False: no dynamic section. */
bool elf_dynamic(const struct elf_file *e, struct elf_dynamic *out);
/* A defined symbol of .dynsym by its DT_GNU_HASH: a handful of reads, whatever the size of the table. */
bool elf_has_dynamic_symbol(const struct elf_file *e, const char *name);
