/* Changes to a crafted engine: a byte each, where and what. It is attached to with them, and named with what was found
 * before and after. Whatever is accepted must be sound.
 */
#include "runtime/php_crafted.h"
#include "runtime/crafted_ask.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define PAIRS 5

static void name_all(const struct crafted *c, int mem, const struct buf *attached, const void *arg)
{
    AUTO_BUF struct buf out = {0};
    struct names v;
    u32 any = 0;
    const u64 words[2 * PAIRS] = {XP_SCRIPT_WORD(XP_LANGUAGE_PHP, crafted_address(c, c->main)),
                                  XP_MORE_WORD(any, 2 | XP_PHP_MAIN),
                                  XP_SCRIPT_WORD(XP_LANGUAGE_PHP, c->method) | XP_WORD_EXACT,
                                  XP_MORE_WORD(crafted_cookie(c, c->method), 3),
                                  XP_SCRIPT_WORD(XP_LANGUAGE_PHP, c->method),
                                  XP_MORE_WORD(any, 3),
                                  XP_SCRIPT_WORD(XP_LANGUAGE_PHP, c->native),
                                  XP_MORE_WORD(any, 0),
                                  XP_SCRIPT_WORD(XP_LANGUAGE_PHP, c->frame),
                                  XP_MORE_WORD(any, 0)};
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
    crafted_make(c, data[0] % CRAFTED_VERSIONS, data[0] / CRAFTED_VERSIONS % 2);
    crafted_fuzz(c, &fuzzer, data + 1, len - 1);
    return 0;
}
