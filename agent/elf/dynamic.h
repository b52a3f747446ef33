/* Reads the dynamic section through PT_DYNAMIC, which exists also when the section headers were removed. */
#pragma once
#include "elf/elf.h"

struct elf_dynamic {
    u64 hash, symtab, strtab; /* addresses; 0: missing */
    u64 init, fini;
    u64 strsz;
    u64 init_array, init_array_size, fini_array, fini_array_size;
    u64 rela, rela_size;
};

/* Returns false if there is no dynamic section. */
bool elf_dynamic(const struct elf_file *e, struct elf_dynamic *out);
/* Tells whether .dynsym defines a symbol, by DT_GNU_HASH: a few reads, regardless of the size of the table. */
bool elf_has_dynamic_symbol(const struct elf_file *e, const char *name);
/* The same, with what .dynsym has of it. */
bool elf_dynamic_symbol(const struct elf_file *e, const char *name, Elf64_Sym *out);
