/* Changes to a crafted V8: a byte each, where and what. It is attached to with them, and functions are named with what
 * was found before and after. Whatever is accepted must be sound.
 */
#include "runtime/v8_crafted_code.h"
#include "runtime/crafted_ask.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define PAIRS 12
#define CODE  64 /* bytes */

struct kinds {
    u32 functions[3];
    u32 optimised, baseline; /* where their code begins */
};

static void add_code(struct crafted *c, struct kinds *k)
{
    static const struct crafted_call calls[] = {{4, 0, 1, 0}, {20, 14, 0, 0}, {40, 19, -1, 0}};
    static const struct crafted_call inlined[] = {{0, 19, -1, 0}, {0, 14, 0, 1}};
    static const u8 table[] = {10, 6, 8};
    u32 deopt = crafted_deopt(c, c->work, crafted_inlined(c, inlined, 2), k->functions, 2);
    k->optimised = crafted_code(c, CODE, deopt, crafted_calls(c, calls, 3));
    k->baseline = crafted_code(c, CODE, c->array, crafted_bytes(c, table, sizeof(table)));
}

/* Strings, scopes and code of all kinds, so that one changed byte leads to them. */
static void add_kinds(struct crafted *c, u32 functions[3])
{
    static const u16 wide[] = {0x6f22, '\r', '\n', 0xd83d, 0xde00, 0x2028, 'x'};
    u32 text = crafted_text(c, "text\n"), two = crafted_two(c, wide, 7), scope;
    u32 thin = crafted_other(c, CRAFTED_THIN, 7, crafted_pointer(two), 0);
    u32 outside = crafted_other(c, CRAFTED_EXTERNAL | CRAFTED_ONE, 5, 0, text + CRAFTED_FIRST);
    u32 cons = crafted_cons(c, crafted_cons(c, text, thin), outside);
    u32 part = crafted_other(c, CRAFTED_SLICED, 9, crafted_pointer(cons), crafted_number(3));
    u32 script = crafted_script(c, part, cons, 3), compiled = crafted_object(c, 300, 32);
    crafted_put(c, compiled + 16, crafted_pointer(c->array), 8);
    scope = crafted_scope(c, (struct crafted_scope){.locals = 3, .class_variable = true, .inferred = cons, .start = 6});
    functions[0] = crafted_function(c, scope, crafted_pointer(compiled), crafted_pointer(script));
    scope = crafted_scope(c, (struct crafted_scope){.locals = 80, .has_name = 3, .name = part, .start = 9});
    functions[1] = crafted_function(c, scope, crafted_pointer(c->array), crafted_pointer(script));
    functions[2] = crafted_function(c, thin, crafted_number(1), crafted_pointer(c->script));
}

static void ask(const struct crafted *c, const void *arg, struct crafted_words *out)
{
    const struct kinds *k = arg;
    const u32 *functions = k->functions;
    const u32 at[PAIRS] = {c->work,      c->work,   c->builtin, functions[0], functions[0], functions[1],
                           functions[2], c->script, c->work,    c->work,      c->work,      c->work};
    const u32 positions[PAIRS] = {4, 306, 0, 300, ~0u, 4, 4, 4, k->optimised + 9, k->optimised + 30, k->baseline + 16,
                                  0};
    for (u32 i = 0; i < PAIRS; i++) {
        bool compiled = i >= 8;
        crafted_ask(out, XP_V8_WORD(compiled ? XP_V8_COMPILED : XP_V8_BYTECODE, at[i]) | (i & 1 ? XP_WORD_EXACT : 0),
                    XP_MORE_WORD(i & 1 && !compiled ? crafted_cookie(c, at[i]) : 0, positions[i]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct kinds k;
    const struct crafted_fuzzer fuzzer = {crafted_change_bytes, ask, &k};
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    if (!c || !len)
        return 0;
    crafted_make(c, data[0] % CRAFTED_VERSIONS);
    crafted_code_exports(c);
    if (len % 2)
        crafted_sizes_export(c);
    add_kinds(c, k.functions);
    add_code(c, &k);
    crafted_fuzz(c, &fuzzer, data + 1, len - 1);
    return 0;
}
