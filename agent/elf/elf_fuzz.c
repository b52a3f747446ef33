/* Any bytes as a file: everything that is made of one. */
#include "base/cleanup.h"
#include "dwarf/names_elf.h"
#include "cfi/table_elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *t = NULL;
    static const u8 secret[16] = {1};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct table_key key;
    size_t size;
    if (elf_open_memory(&e, data, len))
        return 0;
    if (!table_build_elf(&e, NULL, &limits, &t, &size) && table_check(t, size))
        abort();
    AUTO_INPUT struct table_input in = {0};
    if (!table_read(&in, &e, -1, NULL))
        table_key_of(&in, secret, &key);
    for (u32 i = 0; i < e.shnum; i++) {
        AUTO_BYTES struct elf_bytes bytes = {0};
        struct elf_section s;
        if (elf_section_at(&e, i, &s))
            (void)elf_section_bytes(&s, 1 << 20, &bytes);
    }
    return 0;
}
