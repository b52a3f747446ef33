/* Changes to a crafted Ruby: a byte each, where and what. It is attached to with them, and named with what was found
 * before and after. Whatever is accepted must be sound.
 */
#include "runtime/ruby_crafted.h"
#include "runtime/crafted_ask.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define PAIRS 6

static void name_all(const struct crafted *c, int mem, const struct buf *attached, const void *arg)
{
    AUTO_BUF struct buf out = {0};
    struct names v;
    u64 entry = XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->entry);
    (void)arg;
    const u64 words[2 * PAIRS] = {entry,
                                  XP_MORE_WORD(crafted_cookie(c, c->rescue), 8),
                                  entry,
                                  XP_MORE_WORD(crafted_cookie(c, c->block), 488),
                                  XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->singleton_entry),
                                  XP_MORE_WORD(0, 48),
                                  XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->method),
                                  XP_MORE_WORD(0, c->entry),
                                  XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->native_entry),
                                  XP_MORE_WORD(0, XP_RUBY_NATIVE),
                                  XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->path),
                                  XP_MORE_WORD(0, 0)};
    if (runtime_names(mem, attached->data, attached->len, words, 2 * PAIRS, &out))
        return;
    if (names_view(out.data, out.len, PAIRS, &v))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct crafted_fuzzer fuzzer = {crafted_change_bytes, name_all, NULL};
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    if (!c || !len)
        return 0;
    crafted_make(c, data[0] % CRAFTED_VERSIONS, data[0] / CRAFTED_VERSIONS % CRAFTED_LIBCS);
    crafted_fuzz(c, &fuzzer, data + 1, len - 1);
    return 0;
}
