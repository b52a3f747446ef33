/* Builds an ELF file in memory for tests and fuzzers: a .text at 0x10000 and sections with given bytes. */
#pragma once
#include "base/buf.h"
#include <elf.h>
#include <stdint.h>
#include <string.h>

#define CRAFTED_TEXT      0x10000
#define CRAFTED_TEXT_SIZE 0x10000
#define CRAFTED_SECTIONS  8

struct crafted_section {
    const char *name;
    const void *data;
    size_t len;
    uint64_t flags; /* SHF_COMPRESSED */
};

/* Appends the file to `out`. Like a debug file, it has no code. */
static inline void crafted_elf(struct buf *out, const struct crafted_section *s, unsigned n)
{
    Elf64_Shdr h[CRAFTED_SECTIONS + 3] = {
        [1] = {
            .sh_type = SHT_NOBITS, .sh_flags = SHF_EXECINSTR, .sh_addr = CRAFTED_TEXT, .sh_size = CRAFTED_TEXT_SIZE}};
    char names[512] = "";
    size_t names_len = 1, at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
    for (unsigned i = 0; i < n; i++) {
        h[i + 2] = (Elf64_Shdr){.sh_name = (Elf64_Word)names_len,
                                .sh_type = strncmp(s[i].name, ".note", 5) ? SHT_PROGBITS : SHT_NOTE,
                                .sh_flags = s[i].flags,
                                .sh_offset = at,
                                .sh_size = s[i].len};
        at += s[i].len;
        size_t len = strlen(s[i].name) + 1;
        memcpy(names + names_len, s[i].name, len);
        names_len += len;
    }
    h[n + 2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = names_len};
    const Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = ET_DYN,
                          .e_machine = EM_X86_64,
                          .e_phoff = sizeof(e),
                          .e_phnum = 1,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_shoff = at + names_len,
                          .e_shnum = (Elf64_Half)(n + 3),
                          .e_shentsize = sizeof(Elf64_Shdr),
                          .e_shstrndx = (Elf64_Half)(n + 2)};
    const Elf64_Phdr p = {.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = CRAFTED_TEXT, .p_memsz = CRAFTED_TEXT_SIZE};
    buf_add(out, &e, sizeof(e));
    buf_add(out, &p, sizeof(p));
    for (unsigned i = 0; i < n; i++)
        buf_add(out, s[i].data, s[i].len);
    buf_add(out, names, names_len);
    buf_add(out, h, (n + 3) * sizeof(*h));
}
