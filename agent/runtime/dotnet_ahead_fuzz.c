/* Changes to a crafted file with code that was compiled ahead of time: two bytes that say where, and one that says
 * what. An index that is made of it must be sound.
 */
#include "base/fs.h"
#include "dwarf/name_index.h"
#include "runtime/dotnet.h"
#include "runtime/dotnet_crafted_file.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    u8 file[FILE_BYTES];
    AUTO_FREE void *index = NULL;
    struct name_index view;
    size_t bytes;
    make_file(file);
    for (; len >= 3; data += 3, len -= 3)
        file[(data[0] | data[1] << 8) % FILE_BYTES] = data[2];
    AUTO_CLOSE int fd = fs_sealed_memfd("file", file, FILE_BYTES);
    if (fd >= 0 && !dotnet_ahead_index(fd, &index, &bytes) && name_index_open(&view, index, bytes))
        abort();
    return 0;
}
