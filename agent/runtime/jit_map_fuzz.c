/* Any bytes as a perf map, or behind the magic number as a jitdump. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "dwarf/names.h"
#include "runtime/jit_map.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const u32 header[10] = {0x4a695444, 1, 40, 62};
    u64 addresses[64];
    AUTO_BUF struct buf map = {0};
    AUTO_BUF struct buf reply = {0};
    struct names names;
    for (u64 i = 0; i < 64; i++)
        addresses[i] = i * 16;
    if (len && data[0] & 1)
        buf_add(&map, header, sizeof(header));
    buf_add(&map, data, len);
    AUTO_CLOSE int fd = fs_sealed_memfd("map", map.data ? map.data : "", map.len);
    if (fd < 0 || jit_names(fd, -1, addresses, 64, &reply))
        return 0;
    if (names_view(reply.data, reply.len, 64, &names))
        abort();
    return 0;
}
