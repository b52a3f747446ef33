/* From an ID to its name. IDs of operators are their numbers, others have them from bit 4 on; a list of arrays has the
 * strings: of 512 numbers each, a string and a symbol for each number. The list has no symbol of its own in Ruby's
 * file. It is found among the variables of the module: it is the one that has operators where they should be.
 */
#include "base/cleanup.h"
#include "runtime/ruby_internal.h"
#include <string.h>

#define ID_SHIFT     4
#define MAX_OPERATOR 1024 /* tLAST_OP_ID is about 170; the first ID above is 16 times as large */
#define UNIT         512

static u64 string_of(struct memory *m, const struct ruby_layout *l, u64 list, u64 id)
{
    u64 number = id < MAX_OPERATOR ? id : id >> ID_SHIFT;
    return ruby_element(m, l, ruby_element(m, l, list, number / UNIT), number % UNIT * 2);
}

bool ruby_symbol(struct memory *m, const struct ruby_layout *l, u64 id, struct buf *out)
{
    bool ok = l->symbols != 0;
    u64 list = memory_u(m, l->symbols, sizeof(u64), &ok);
    return ok && ruby_text(m, l, string_of(m, l, list, id), out);
}

struct symbol_search {
    struct memory *m;
    struct ruby_layout *l;
};

static bool is_list(void *arg, u64 at, u64 value)
{
    static const char operators[] = {'+', '-', '*', '/', '<'};
    const struct symbol_search *s = arg;
    if (!ruby_may_point(value))
        return false;
    for (unsigned i = 0; i < sizeof(operators); i++) {
        AUTO_BUF struct buf text = {0};
        if (!ruby_text(s->m, s->l, string_of(s->m, s->l, value, (u64)operators[i]), &text) || text.len != 1 ||
            text.data[0] != operators[i])
            return false;
    }
    s->l->symbols = at;
    return true;
}

void ruby_find_symbols(struct memory *m, const struct module *mod, struct ruby_layout *l)
{
    struct symbol_search s = {m, l};
    ruby_each_variable(m, mod, is_list, &s);
}
