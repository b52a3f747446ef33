/* A crafted process, for tests: bytes whose offsets are its addresses, and its mappings. The first one is that of a
 * module, which has a header, one segment, and dynamic symbols in one bucket of DT_HASH, all at fixed places in a page.
 */
#pragma once
#include "bpf/types.h"
#include <elf.h>
#include <string.h>

#define CRAFTED_SIZE   0x10000
#define CRAFTED_MODULE 0x1000
#define CRAFTED_MAPS                                               \
    "00001000-00002000 r--p 00000000 08:01 7    /usr/lib/lib.so\n" \
    "00002000-00010000 rw-p 00000000 00:00 0 \n"

#define CRAFTED_MODULE_DYNAMIC 0x100 /* from its start */
#define CRAFTED_MODULE_HASH    0x180
#define CRAFTED_MODULE_SYMTAB  0x300
#define CRAFTED_MODULE_STRTAB  0x800

static inline void crafted_module(u8 *bytes, u32 base)
{
    Elf64_Ehdr h = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64}, .e_phoff = sizeof(h), .e_phentsize = 56, .e_phnum = 2};
    Elf64_Phdr p[2] = {{.p_type = PT_LOAD},
                       {.p_type = PT_DYNAMIC, .p_vaddr = CRAFTED_MODULE_DYNAMIC, .p_memsz = 4 * sizeof(Elf64_Dyn)}};
    Elf64_Dyn d[4] = {{.d_tag = DT_SYMTAB, .d_un.d_ptr = base + CRAFTED_MODULE_SYMTAB},
                      {.d_tag = DT_STRTAB, .d_un.d_ptr = base + CRAFTED_MODULE_STRTAB},
                      {.d_tag = DT_HASH, .d_un.d_ptr = base + CRAFTED_MODULE_HASH}};
    memcpy(bytes + base, &h, sizeof(h));
    memcpy(bytes + base + sizeof(h), p, sizeof(p));
    memcpy(bytes + base + CRAFTED_MODULE_DYNAMIC, d, sizeof(d));
}

/* Adds symbol number ++*n. */
static inline void crafted_module_export(u8 *bytes, u32 base, u32 *n, const char *name, u64 at)
{
    u32 i = ++*n, str = 1;
    char *strings = (char *)bytes + base + CRAFTED_MODULE_STRTAB;
    while (strings[str])
        str += (u32)strlen(strings + str) + 1;
    strcpy(strings + str, name);
    Elf64_Sym s = {.st_name = str, .st_shndx = 1, .st_value = at - base};
    memcpy(bytes + base + CRAFTED_MODULE_SYMTAB + i * sizeof(s), &s, sizeof(s));
    u32 hash[3] = {1, i + 1, 1}; /* buckets, chains, the first symbol; then the next ones */
    u32 *chain = (u32 *)(void *)(bytes + base + CRAFTED_MODULE_HASH + sizeof(hash));
    memcpy(bytes + base + CRAFTED_MODULE_HASH, hash, sizeof(hash));
    chain[i - 1] = i == 1 ? 0 : i;
    chain[i] = 0;
}
