/* Tables of files that have builtins of V8, which they export something to tell. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/test.h"
#include "cfi/table_elf.h"

#define AT          0x1000 /* the address of the file's first byte */
#define VADDR(part) (AT + offsetof(struct file, part))

struct file { /* without CFI, with one dynamic symbol */
    Elf64_Ehdr h;
    Elf64_Phdr p[2];
    Elf64_Dyn d[4];
    u32 head[4]; /* DT_GNU_HASH: buckets, first symbol, words of the filter, its shift */
    u64 filter;
    u32 bucket, chain;
    Elf64_Sym s[2];
    char name[64];
};

static struct file new_file(const char *name)
{
    struct file f = {
        .h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
              .e_type = ET_DYN,
              .e_machine = EM_X86_64,
              .e_phoff = offsetof(struct file, p),
              .e_phnum = 2,
              .e_phentsize = sizeof(Elf64_Phdr)},
        .p = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = AT, .p_filesz = sizeof(f), .p_memsz = sizeof(f)},
              {.p_type = PT_DYNAMIC, .p_vaddr = VADDR(d)}},
        .d = {{DT_GNU_HASH, {VADDR(head)}}, {DT_SYMTAB, {VADDR(s)}}, {DT_STRTAB, {VADDR(name)}}, {DT_NULL, {0}}},
        .head = {1, 1, 1, 0},
        .bucket = 1,
        .chain = hash_gnu(name) | 1,
        .s = {{0}, {.st_value = AT, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_shndx = 1}},
    };
    snprintf(f.name, sizeof(f.name), "%s", name);
    return f;
}

static u32 flags_with(const char *name)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    const struct file f = new_file(name);
    size_t len;
    if (elf_open_memory(&e, &f, sizeof(f)) || table_build_elf(&e, NULL, &limits, &t, &len) || table_check(t, len))
        return UINT32_MAX;
    return t->flags;
}

TEST(table_of_a_file_with_v8_says_so)
{
    CHECK_EQ(flags_with("v8dbg_off_fp_function"), XP_TABLE_FP_OK | XP_TABLE_V8);
    CHECK_EQ(flags_with("v8_Default_embedded_blob_code_"), XP_TABLE_FP_OK | XP_TABLE_V8);
    CHECK_EQ(flags_with("_ZNK2v88internal7Isolate18embedded_blob_codeEv"), XP_TABLE_FP_OK | XP_TABLE_V8);
    CHECK_EQ(flags_with("v8dbg_off_fp_functions"), XP_TABLE_FP_OK);
}

TEST(table_that_says_what_nobody_knows_is_refused)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    const struct file f = new_file("v8dbg_off_fp_function");
    size_t len;
    CHECK_EQ(elf_open_memory(&e, &f, sizeof(f)), 0);
    CHECK_EQ(table_build_elf(&e, NULL, &limits, &t, &len), 0);
    CHECK_EQ(table_check(t, len), 0);
    t->flags |= 2; /* XP_FILE_OPEN: it is the kernel side's */
    CHECK(table_check(t, len) < 0);
}
