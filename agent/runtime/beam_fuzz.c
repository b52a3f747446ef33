/* Changes to a crafted virtual machine of Erlang: a byte each, where and what. It is attached to with them, and named
 * with what was found before and after. Whatever is accepted must be sound.
 */
#include "runtime/beam_crafted.h"
#include "runtime/crafted_ask.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void ask(const struct crafted *c, const void *arg, struct crafted_words *out)
{
    (void)c;
    (void)arg;
    for (u32 i = 0; i < 8; i++)
        crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_BEAM, CRAFTED_SHOP + 0x20 * i + 1), XP_MORE_WORD(0, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct crafted_fuzzer fuzzer = {crafted_change_bytes, ask, NULL};
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    if (!c || !len)
        return 0;
    crafted_make(c, data[0] % CRAFTED_BUILDS);
    crafted_fuzz(c, &fuzzer, data + 1, len - 1);
    return 0;
}
