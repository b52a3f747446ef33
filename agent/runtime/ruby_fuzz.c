/* Changes to a crafted Ruby: a byte each, where and what. It is attached to with them, and named with what was found
 * before and after. Whatever is accepted must be sound.
 */
#include "runtime/ruby_crafted.h"
#include "runtime/crafted_ask.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void ask(const struct crafted *c, const void *arg, struct crafted_words *out)
{
    u64 entry = XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->entry);
    (void)arg;
    crafted_ask(out, entry, XP_MORE_WORD(crafted_cookie(c, c->rescue), 8));
    crafted_ask(out, entry, XP_MORE_WORD(crafted_cookie(c, c->block), 488));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->singleton_entry), XP_MORE_WORD(0, 48));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->method), XP_MORE_WORD(0, c->entry));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->native_entry), XP_MORE_WORD(0, XP_RUBY_NATIVE));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, c->path), XP_MORE_WORD(0, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct crafted_fuzzer fuzzer = {crafted_change_bytes, ask, NULL};
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    if (!c || !len)
        return 0;
    crafted_make(c, data[0] % CRAFTED_VERSIONS, data[0] / CRAFTED_VERSIONS % CRAFTED_LIBCS);
    crafted_fuzz(c, &fuzzer, data + 1, len - 1);
    return 0;
}
