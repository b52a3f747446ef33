/* Changes to a crafted virtual machine: four bytes each, where and what. It is attached to with them, and named with
 * what was found before and after. Whatever is accepted must be sound.
 */
#include "runtime/hotspot_crafted.h"
#include "runtime/crafted_ask.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void ask(const struct crafted *c, const void *arg, struct crafted_words *out)
{
    (void)arg;
    u64 compiled = XP_JAVA_WORD(XP_JAVA_COMPILED, c->nmethod);
    crafted_ask(out, compiled, XP_MORE_WORD(77, 16));
    crafted_ask(out, compiled, XP_MORE_WORD(77, 32));
    crafted_ask(out, compiled | XP_WORD_EXACT, XP_MORE_WORD(77, 9));
    crafted_ask(out, XP_JAVA_WORD(XP_JAVA_COMPILED, c->native), XP_MORE_WORD(78, 0));
    crafted_ask(out, XP_JAVA_WORD(XP_JAVA_INTERPRETED, c->lambda), XP_MORE_WORD(crafted_cookie(c, c->lambda), 5));
    crafted_ask(out, XP_JAVA_WORD(XP_JAVA_STUB, c->stub), XP_MORE_WORD(0, 1));
}

/* Two bytes that follow each other. */
static void change(struct crafted *c, const u8 *data, size_t len)
{
    for (size_t i = 0; i + 3 < len; i += 4) {
        u32 at = data[i] | (u32)data[i + 1] << 8;
        c->bytes[at] = data[i + 2];
        c->bytes[(at + 1) % CRAFTED_SIZE] = data[i + 3];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const enum crafted_age ages[] = {CRAFTED_8, CRAFTED_17, CRAFTED_23, CRAFTED_25};
    static const struct crafted_fuzzer fuzzer = {change, ask, NULL};
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    if (!c || !len)
        return 0;
    crafted_make(c, ages[data[0] % 4]);
    crafted_fuzz(c, &fuzzer, data + 1, len - 1);
    return 0;
}
