/* Tables of files that have builtins of V8, which they export something to tell. */
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/table_elf.h"
#include "elf/crafted_dynamic.h"

static u32 flags_with(const char *name)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    const struct file f = new_file_with(name);
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
    const struct file f = new_file_with("v8dbg_off_fp_function");
    size_t len;
    CHECK_EQ(elf_open_memory(&e, &f, sizeof(f)), 0);
    CHECK_EQ(table_build_elf(&e, NULL, &limits, &t, &len), 0);
    CHECK_EQ(table_check(t, len), 0);
    t->flags |= 2; /* XP_FILE_OPEN: it is the kernel side's */
    CHECK(table_check(t, len) < 0);
}
