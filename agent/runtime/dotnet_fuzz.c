/* Changes to a crafted .NET: a byte each, where and what. It is attached to with them, and named with what was found
 * before and after. Whatever is accepted must be sound.
 */
#include "runtime/dotnet_crafted.h"
#include "runtime/crafted_ask.h"

static void ask(const struct crafted *c, const void *arg, struct crafted_words *out)
{
    (void)arg;
    for (u32 i = 0; i < CRAFTED_METHODS; i++)
        crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_DOTNET, c->code[i] + 1 + 16 * i), XP_MORE_WORD(0, 0));
}

CRAFTED_FUZZER(ask, crafted_make(c, kind % CRAFTED_BUILDS))
