/* Changes to a crafted virtual machine of Erlang: a byte each, where and what. It is attached to with them, and named
 * with what was found before and after. Whatever is accepted must be sound.
 */
#include "runtime/beam_crafted.h"
#include "runtime/crafted_ask.h"

static void ask(const struct crafted *c, const void *arg, struct crafted_words *out)
{
    (void)c;
    (void)arg;
    for (u32 i = 0; i < 8; i++)
        crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_BEAM, CRAFTED_SHOP + 0x20 * i + 1), XP_MORE_WORD(0, 0));
}

CRAFTED_FUZZER(ask, crafted_make(c, kind % CRAFTED_BUILDS))
