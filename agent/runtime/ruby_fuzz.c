/* Changes to a crafted Ruby: a byte each, where and what. It is attached to with them, and named with what was found
 * before and after. Whatever is accepted must be sound.
 */
#include "runtime/ruby_crafted.h"
#include "runtime/crafted_ask.h"

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

CRAFTED_FUZZER(ask, crafted_make(c, kind % CRAFTED_VERSIONS, kind / CRAFTED_VERSIONS % CRAFTED_LIBCS))
