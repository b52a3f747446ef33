/* Changes to a crafted virtual machine: four bytes each, where and what. It is attached to with them, and named with
 * what was found before and after. Whatever is accepted must be sound.
 */
#include "base/cleanup.h"
#include "base/fs.h"
#include "dwarf/names.h"
#include "runtime/hotspot_crafted.h"
#include "runtime/runtime.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define PAIRS 6

static void name_all(const struct crafted *c, int mem, const struct buf *attached)
{
    AUTO_BUF struct buf out = {0};
    struct names v;
    u64 compiled = XP_JAVA_WORD(XP_JAVA_COMPILED, c->nmethod);
    const u64 words[2 * PAIRS] = {compiled,
                                  XP_MORE_WORD(77, 16),
                                  compiled,
                                  XP_MORE_WORD(77, 32),
                                  compiled | XP_WORD_EXACT,
                                  XP_MORE_WORD(77, 9),
                                  XP_JAVA_WORD(XP_JAVA_COMPILED, c->native),
                                  XP_MORE_WORD(78, 0),
                                  XP_JAVA_WORD(XP_JAVA_INTERPRETED, c->lambda),
                                  XP_MORE_WORD(crafted_cookie(c, c->lambda), 5),
                                  XP_JAVA_WORD(XP_JAVA_STUB, c->stub),
                                  XP_MORE_WORD(0, 1)};
    if (runtime_names(mem, attached->data, attached->len, words, 2 * PAIRS, &out))
        return;
    if (names_view(out.data, out.len, PAIRS, &v))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const enum crafted_age ages[] = {CRAFTED_8, CRAFTED_17, CRAFTED_23, CRAFTED_25};
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    AUTO_BUF struct buf before = {0};
    AUTO_BUF struct buf after = {0};
    const void *bytes;
    if (!c || !len)
        return 0;
    crafted_make(c, ages[data[0] % 4]);
    AUTO_CLOSE int maps = fs_sealed_memfd("maps", CRAFTED_MAPS, strlen(CRAFTED_MAPS));
    AUTO_CLOSE int sound = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    if (runtime_attach(sound, maps, &before))
        abort();
    for (size_t i = 1; i + 3 < len; i += 4) {
        memcpy(c->bytes + (data[i] | data[i + 1] << 8), data + i + 2, 1);
        memcpy(c->bytes + ((data[i] | data[i + 1] << 8) + 1) % CRAFTED_SIZE, data + i + 3, 1);
    }
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    name_all(c, mem, &before);
    if (runtime_attach(mem, maps, &after))
        return 0;
    if (!runtime_attached(after.data, after.len, &bytes))
        abort();
    name_all(c, mem, &after);
    return 0;
}
