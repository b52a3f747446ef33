/* Any bytes as an image from the disk or the parser process: sound ones can be looked up in. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "dwarf/names.h"
#include "cfi/table.h"
#include "synth/stretch_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_stretches(char *copy, size_t len)
{
    struct stretch_image *i = (struct stretch_image *)copy;
    const size_t from = offsetof(struct stretch_image, counts);
    AUTO_SYNTH struct synth s = {0};
    size_t n;
    if (len < sizeof(*i))
        return;
    i->magic = STRETCH_IMAGE_MAGIC;
    i->version = STRETCH_IMAGE_VERSION;
    i->checksum = hash_block(copy + from, len - from, 0);
    if (!stretch_image_check(copy, len) && stretch_image_wanted(copy, &n) && stretch_image_read(copy, &s))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO_FREE char *copy = malloc(len + 8); /* aligned, and the checksum made good: else nothing gets past it */
    memcpy(copy, data, len);
    struct xp_table *t = (struct xp_table *)copy;
    if (len >= sizeof(*t)) {
        t->magic = XP_TABLE_MAGIC;
        t->version = XP_TABLE_VERSION;
        t->checksum = hash_block(t + 1, len - sizeof(*t), 0);
    }
    u8 sum = 0;
    if (!table_check(copy, len))
        for (u64 at = 0; at < 100; at++)
            sum ^= table_rule_at(t, t->lo + at * 97).kind;
    struct names v;
    for (size_t n = 0; n < 4; n++)
        if (!names_view(copy, len, n, &v))
            for (u32 i = 0; i < v.first[n]; i++)
                sum ^= (u8)strlen(v.strings + v.frames[i].name);
    read_stretches(copy, len);
    __asm__ volatile("" ::"r"(sum)); /* everything that was read mattered */
    return 0;
}
