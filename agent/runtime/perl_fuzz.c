/* Changes to a crafted interpreter: a byte each, where and what. It is attached to with them, and named with what was
 * found before and after. Whatever is accepted must be sound.
 */
#include "runtime/perl_crafted.h"
#include "runtime/crafted_ask.h"

static void ask(const struct crafted *c, const void *arg, struct crafted_words *out)
{
    (void)arg;
    for (u32 i = 0; i < CRAFTED_SUBS; i++) {
        u32 position = XP_PERL_AT(((s64)c->statement[i] - (s64)c->cv[i]) / 8);
        crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PERL, c->cv[i]),
                    XP_MORE_WORD(i & 1 ? 0 : crafted_cookie(c, i), i % 3 ? position : XP_PERL_LINE(i)));
    }
}

CRAFTED_FUZZER(ask, crafted_make(c, kind % CRAFTED_VERSIONS, kind / CRAFTED_VERSIONS % CRAFTED_BUILDS,
                                 kind / (CRAFTED_VERSIONS * CRAFTED_BUILDS) % CRAFTED_LIBCS))
