/* A file of two sections, symbols and their names, over 64 KiB of code, made of any bytes: for fuzzers. */
#pragma once
#include "bpf/types.h"
#include <elf.h>
#include <string.h>

#define CRAFTED_SYMBOLS (1 << 16) /* bytes */

/* Fills in the file. */
static inline void crafted_symbols(const uint8_t *data, size_t len, u8 file[CRAFTED_SYMBOLS])
{
    size_t n = len < 20000 ? len : 20000, syms = n / 3 * 2 / sizeof(Elf64_Sym) * sizeof(Elf64_Sym);
    const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = ET_DYN,
                          .e_machine = EM_X86_64,
                          .e_phoff = sizeof(h),
                          .e_phnum = 1,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_shoff = 128,
                          .e_shnum = 3,
                          .e_shentsize = sizeof(Elf64_Shdr)};
    const Elf64_Phdr p = {
        .p_type = PT_LOAD, .p_flags = PF_X | PF_W, .p_filesz = CRAFTED_SYMBOLS, .p_memsz = CRAFTED_SYMBOLS};
    const Elf64_Shdr s[3] = {[1] = {.sh_type = SHT_SYMTAB, .sh_offset = 4096, .sh_size = syms, .sh_link = 2},
                             [2] = {.sh_type = SHT_STRTAB, .sh_offset = 4096 + syms, .sh_size = n - syms}};
    memset(file, 0, CRAFTED_SYMBOLS);
    memcpy(file, &h, sizeof(h));
    memcpy(file + sizeof(h), &p, sizeof(p));
    memcpy(file + 128, s, sizeof(s));
    memcpy(file + 4096, data, n);
}
