/* Any bytes as the spool's file finds them: a head and its body, and a body by itself. A checksum that is right lets
 * the rest be reached.
 */
#include "export/record.h"
#include "export/segment.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct export_profile p;
    AUTO_BUF struct buf whole = {0};
    long n = record_check(data, size);
    if (n > (long)size || (record_decode(data, size, &p) == 0 && (const uint8_t *)p.gz + p.gz_len != data + size))
        __builtin_trap();
    struct record_head h = record_head_of(1, 2, data, size);
    buf_add(&whole, &h, sizeof(h));
    buf_add(&whole, data, size);
    if (record_check(whole.data, whole.len) != (long)whole.len)
        __builtin_trap();
    return 0;
}
