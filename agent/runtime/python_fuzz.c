/* Changes to a crafted interpreter: a byte each, where and what. It is attached to with them, and named with what was
 * found before and after. Whatever is accepted must be sound.
 */
#include "runtime/python_crafted.h"
#include "runtime/crafted_ask.h"

static void ask(const struct crafted *c, const void *arg, struct crafted_words *out)
{
    (void)arg;
    u64 first = XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, c->thread[0].code),
        second = XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, c->thread[1].code);
    crafted_ask(out, first, XP_MORE_WORD(crafted_cookie(c, c->thread[0].code), 2));
    crafted_ask(out, first | XP_WORD_EXACT, XP_MORE_WORD(0, 12));
    crafted_ask(out, second, XP_MORE_WORD(0, 16));
    crafted_ask(out, second, XP_MORE_WORD(0, c->thread[0].name));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, c->thread[0].name), XP_MORE_WORD(0, 0));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PYTHON, c->thread[1].frame), XP_MORE_WORD(0, -2));
}

CRAFTED_FUZZER(ask, crafted_make(c, kind % CRAFTED_VERSIONS, kind / CRAFTED_VERSIONS % 3))
