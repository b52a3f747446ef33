/* A file made by hand, without section headers, whose dynamic section leads to five symbols: for tests. */
#pragma once
#include "base/hash.h"
#include "bpf/types.h"
#include <elf.h>
#include <stddef.h>
#include <string.h>

#define AT          0x1000 /* the address of the file's first byte */
#define VADDR(part) (AT + offsetof(struct file, part))
#define SYMBOLS     5

struct file {
    Elf64_Ehdr h;
    Elf64_Phdr p[2];
    Elf64_Dyn d[9];
    u32 head[4]; /* DT_GNU_HASH: buckets, first symbol, words of the filter, its shift */
    u64 filter;
    u32 bucket[1], chain[SYMBOLS - 1];
    Elf64_Sym s[SYMBOLS];
    char names[96];
};

/* `name`: of its second symbol, the first one that it defines. */
static inline struct file new_file_with(const char *name)
{
    const char *const names[SYMBOLS] = {"", "one", name, "three", "four"};
    struct file f = {
        .h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
              .e_type = ET_DYN,
              .e_machine = EM_X86_64,
              .e_phoff = offsetof(struct file, p),
              .e_phnum = 2,
              .e_phentsize = sizeof(Elf64_Phdr)},
        .p = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = AT, .p_filesz = sizeof(f)},
              {.p_type = PT_DYNAMIC, .p_vaddr = VADDR(d)}},
        .d = {{DT_GNU_HASH, {VADDR(head)}},
              {DT_SYMTAB, {VADDR(s)}},
              {DT_STRTAB, {VADDR(names)}},
              {DT_STRSZ, {sizeof(f.names)}},
              {DT_INIT, {0x1111}},
              {DT_FINI, {0x2222}},
              {DT_SONAME, {0x3333}},
              {DT_NULL, {0}},
              {DT_INIT, {0x4444}}}, /* behind the end */
        .head = {1, 1, 1, 0},
        .bucket = {1},
    };
    for (u32 i = 1, at = 1; i < SYMBOLS; i++) {
        f.chain[i - 1] = (hash_gnu(names[i]) & ~1u) | (i + 1 == SYMBOLS);
        f.s[i] = (Elf64_Sym){.st_name = at,
                             .st_value = AT + i * 16,
                             .st_size = 16,
                             .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                             .st_shndx = i == 1 ? SHN_UNDEF : 1};
        strcpy(f.names + at, names[i]);
        at += (u32)strlen(names[i]) + 1;
    }
    return f;
}
