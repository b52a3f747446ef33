/* Any bytes as code: instructions follow each other to the end, each read from a block of its own size, and say nothing
 * that the contract does not allow.
 */
#include "base/cleanup.h"
#include "synth/insn.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(bool holds)
{
    if (!holds)
        __builtin_trap();
}

static void check_operand(const struct insn_operand *o)
{
    check(o->kind <= INSN_IMM);
    if (o->kind == INSN_REG)
        check(o->reg < 16);
    if (o->kind != INSN_MEM)
        return;
    check(o->base <= INSN_RIP || o->base == INSN_NO_REG);
    check((o->index < 16 && o->index != INSN_RSP) || o->index == INSN_NO_REG);
    check(o->scale == 1 || o->scale == 2 || o->scale == 4 || o->scale == 8);
}

static void check_insn(const struct insn *i)
{
    check(i->len <= INSN_MAX_BYTES && i->op <= INSN_DEC);
    check(i->size == 1 || i->size == 2 || i->size == 4 || i->size == 8);
    check(i->address_size == 4 || i->address_size == 8);
    check(i->stores || !i->wide);
    check_operand(&i->a);
    check_operand(&i->b);
    check_operand(&i->mem);
    if (i->op >= INSN_MOV && i->a.kind == INSN_REG) /* what is assigned is written */
        check(i->writes >> i->a.reg & 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    for (size_t at = 0; at < len;) {
        struct insn insn, again;
        size_t n = insn_decode(data + at, len - at, &insn);
        if (n) {
            check(n == insn.len);
            check_insn(&insn);
            AUTO_FREE u8 *exact = malloc(n);
            memcpy(exact, data + at, n);
            check(insn_decode(exact, n, &again) == n && again.op == insn.op && again.writes == insn.writes);
            check(!insn_decode(exact, n - 1, &again));
        }
        at += n ? n : 1;
    }
    return 0;
}
