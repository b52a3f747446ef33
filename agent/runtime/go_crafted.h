/* For tests and the fuzzer: the smallest Go program (GO_1_18 or GO_1_20), as a file in memory. Code at 0x1000,
 * moduledata at 0x2000, inline tree at 0x2800, table at 0x3000; addresses are file offsets. main.f is at
 * 0x1000..0x1100, main.g[int] at 0x1100..0x1200. At 0x1010..0x1020, main.h is inlined into main.f, called at 0x1030.
 * All is in a.go: line 7 up to 0x1030, line 9 from there on. main.f pushes rbp, main.g has no depths.
 */
#pragma once
#include "runtime/gopclntab_internal.h"

#define CRAFTED_SIZE   0x3400u
#define CRAFTED_MODULE 0x2000u
#define CRAFTED_TREE   0x2800u
#define CRAFTED_TABLE  0x3000u
#define CRAFTED_NAMES  0x60u /* in the table, from here on */
#define CRAFTED_UNITS  0xa0u
#define CRAFTED_FILES  0xb0u
#define CRAFTED_VALUES 0xc0u
#define CRAFTED_DEPTHS 19u /* of main.f, in values */
#define CRAFTED_FUNCS  0x100u

static inline void crafted_u32(u8 *at, u32 v)
{
    memcpy(at, &v, sizeof(v));
}
static inline void crafted_u64(u8 *at, u64 v)
{
    memcpy(at, &v, sizeof(v));
}

static inline void crafted_elf(u8 *file)
{
    static const char names[] = "\0.gopclntab\0.shstrtab";
    const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = ET_EXEC,
                          .e_machine = EM_X86_64,
                          .e_phoff = sizeof(h),
                          .e_phnum = 1,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_shoff = 128,
                          .e_shnum = 3,
                          .e_shstrndx = 2,
                          .e_shentsize = sizeof(Elf64_Shdr)};
    const Elf64_Phdr p = {.p_type = PT_LOAD, .p_flags = PF_R | PF_W | PF_X, .p_filesz = CRAFTED_SIZE};
    const Elf64_Shdr s[3] = {
        [1] = {.sh_name = 1,
               .sh_type = SHT_PROGBITS,
               .sh_addr = CRAFTED_TABLE,
               .sh_offset = CRAFTED_TABLE,
               .sh_size = CRAFTED_SIZE - CRAFTED_TABLE},
        [2] = {.sh_name = 12, .sh_type = SHT_STRTAB, .sh_offset = 0x200, .sh_size = sizeof(names)}};
    memcpy(file, &h, sizeof(h));
    memcpy(file + h.e_phoff, &p, sizeof(p));
    memcpy(file + h.e_shoff, s, sizeof(s));
    memcpy(file + 0x200, names, sizeof(names));
}

/* A record; 1.20 put the function's line into its middle. */
static inline void crafted_func(u8 *f, enum go_layout layout, u32 entry, u32 name, u32 inlined, u32 depth)
{
    const u32 fields[] = {entry, name, 0, 0, depth, 1, 5, 3, 0};
    memcpy(f, fields, sizeof(fields));
    f += sizeof(fields) + 4 * (layout == GO_1_20);
    f[3] = 4; /* nfuncdata; in front of it the id, which is 0 */
    crafted_u32(f + 4 + 4 * 2, inlined);
    memset(f + 16, 0xff, 12);
    crafted_u32(f + 16 + 4 * 3, inlined ? 0 : 0xffffffff);
}

static inline void crafted_program(u8 file[CRAFTED_SIZE], enum go_layout layout)
{
    static const u8 values[] = {0,  2,    0x80, 4,    0,              /* file: 0 everywhere */
                                16, 0x30, 4,    0xd0, 3,  0,          /* line: 7, 9 from 0x30 on */
                                0,  0x10, 2,    0x10, 1,  0xe0, 1, 0, /* inlined call 0 at 0x10..0x20 */
                                2,  1,    16,   0x2f, 15, 0x50, 0};   /* depth: 0; 8 from 1 on; 0 from 0x30 on */
    static const u8 code[] = {0x55, 0x48, 0x89, 0xe5};
    static const char names[] = "\0main.f\0main.g[int]\0main.h";
    const u32 at[] = {CRAFTED_NAMES, CRAFTED_UNITS, CRAFTED_FILES, CRAFTED_VALUES, CRAFTED_FUNCS};
    const u32 index[] = {0, 0x40, 0x100, 0xa0, 0x200}, tree[] = {0, 20, 0x30, 1}, old_tree[] = {0xffff, 0, 0, 20, 0x30},
              units[] = {1};
    u8 *module = file + CRAFTED_MODULE, *t = file + CRAFTED_TABLE;
    memset(file, 0, CRAFTED_SIZE);
    crafted_elf(file);
    memcpy(file + 0x1000, code, sizeof(code));
    crafted_u32(t, layout == GO_1_20 ? 0xfffffff1 : 0xfffffff0);
    t[6] = 1;
    t[7] = 8;
    crafted_u64(t + 8, 2);
    for (unsigned i = 0; i < 5; i++)
        crafted_u64(t + 32 + 8 * i, at[i]);
    memcpy(t + CRAFTED_NAMES, names, sizeof(names));
    memcpy(t + CRAFTED_UNITS, units, sizeof(units));
    memcpy(t + CRAFTED_FILES, "\0a.go", 6);
    memcpy(t + CRAFTED_VALUES, values, sizeof(values));
    memcpy(t + CRAFTED_FUNCS, index, sizeof(index));
    crafted_func(t + CRAFTED_FUNCS + 0x40, layout, 0, 1, 11, CRAFTED_DEPTHS);
    crafted_func(t + CRAFTED_FUNCS + 0xa0, layout, 0x100, 8, 0, 0);
    if (layout == GO_1_20)
        memcpy(file + CRAFTED_TREE, tree, sizeof(tree));
    else
        memcpy(file + CRAFTED_TREE, old_tree, sizeof(old_tree));
    crafted_u64(module, CRAFTED_TABLE);
    crafted_u64(module + 8 * 20, 0x1000); /* minpc */
    crafted_u64(module + 8 * 22, 0x1000); /* text */
    crafted_u64(module + 8 * 23, 0x1200); /* etext */
    crafted_u64(module + 8 * (layout == GO_1_20 ? 40 : 38), CRAFTED_TREE);
}
