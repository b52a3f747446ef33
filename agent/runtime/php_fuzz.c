/* Changes to a crafted engine: a byte each, where and what. It is attached to with them, and named with what was found
 * before and after. Whatever is accepted must be sound.
 */
#include "runtime/php_crafted.h"
#include "runtime/crafted_ask.h"

static void ask(const struct crafted *c, const void *arg, struct crafted_words *out)
{
    (void)arg;
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, crafted_address(c, c->main)), XP_MORE_WORD(0, 2 | XP_PHP_MAIN));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, c->method) | XP_WORD_EXACT,
                XP_MORE_WORD(crafted_cookie(c, c->method), 3));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, c->method), XP_MORE_WORD(0, 3));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, c->native), XP_MORE_WORD(0, 0));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, c->frame), XP_MORE_WORD(0, 0));
}

CRAFTED_FUZZER(ask, crafted_make(c, kind % CRAFTED_VERSIONS, kind / CRAFTED_VERSIONS % 2))
