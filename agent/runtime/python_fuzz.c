/* Changes to a crafted interpreter: a byte each, where and what. It is attached to with them, and named with what was
 * found before and after. Whatever is accepted must be sound.
 */
#include "base/cleanup.h"
#include "base/fs.h"
#include "dwarf/names.h"
#include "runtime/python_crafted.h"
#include "runtime/runtime.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define PAIRS 6

static void name_all(const struct crafted *c, int mem, const struct buf *attached)
{
    AUTO_BUF struct buf out = {0};
    struct names v;
    u64 first = XP_PYTHON_WORD(c->thread[0].code), second = XP_PYTHON_WORD(c->thread[1].code);
    u32 any = 0;
    const u64 words[2 * PAIRS] = {first,
                                  XP_MORE_WORD(crafted_cookie(c, c->thread[0].code), 2),
                                  first | XP_WORD_EXACT,
                                  XP_MORE_WORD(any, 12),
                                  second,
                                  XP_MORE_WORD(any, 16),
                                  second,
                                  XP_MORE_WORD(any, c->thread[0].name),
                                  XP_PYTHON_WORD(c->thread[0].name),
                                  XP_MORE_WORD(any, 0),
                                  XP_PYTHON_WORD(c->thread[1].frame),
                                  XP_MORE_WORD(any, -2)};
    if (runtime_names(mem, attached->data, attached->len, words, 2 * PAIRS, &out))
        return;
    if (names_view(out.data, out.len, PAIRS, &v))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    AUTO_BUF struct buf before = {0};
    AUTO_BUF struct buf after = {0};
    AUTO_BUF struct buf about = {0};
    const void *bytes;
    if (!c || !len)
        return 0;
    crafted_make(c, data[0] % CRAFTED_VERSIONS, data[0] / CRAFTED_VERSIONS % 3);
    AUTO_CLOSE int maps = fs_sealed_memfd("maps", CRAFTED_MAPS, strlen(CRAFTED_MAPS));
    AUTO_CLOSE int sound = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    if (runtime_attach(sound, maps, &before))
        abort();
    for (size_t i = 1; i + 2 < len; i += 3)
        c->bytes[data[i] | data[i + 1] << 8] = data[i + 2];
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    name_all(c, mem, &before);
    if (!runtime_about(mem, maps, &about) && !runtime_about_sound(about.data, about.len))
        abort();
    if (runtime_attach(mem, maps, &after))
        return 0;
    if (!runtime_attached(after.data, after.len, &bytes))
        abort();
    name_all(c, mem, &after);
    return 0;
}
