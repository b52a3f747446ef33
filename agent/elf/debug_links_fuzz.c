/* Links of any bytes: the first says where the second section begins. Then the bytes as links from another process. */
#include "base/cleanup.h"
#include "elf/debug_links.h"
#include "dwarf/crafted.h"
#include "elf/elf.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO_BUF struct buf file = {0};
    AUTO_ELF struct elf_file e = {0};
    struct debug_links l;
    if (len < 2)
        return 0;
    size_t n = (len - 1) * data[0] / 255;
    struct crafted_section s[3] = {{".gnu_debuglink", data + 1, n, 0},
                                   {".gnu_debugaltlink", data + 1 + n, len - 1 - n, 0},
                                   {".debug_info", data, len, 0}};
    crafted_elf(&file, s, 3);
    if (elf_open_memory(&e, file.data, file.len))
        return 0;
    debug_links_of(&e, true, &l);
    if (!debug_links_sound(&l, sizeof(l)) || !(l.has & DEBUG_HAS_INFO))
        abort();
    if (debug_links_sound(data, len) && strlen(((const struct debug_links *)data)->alt) > len)
        abort();
    return 0;
}
