/* Instructions written by hand, and what the decoder says about them as a line of text:
 *
 *     sub.8 rsp, 16 = rsp              operation, size, operands; behind "=" the registers written
 *     - = rax rcx store wide           OTHER; a store of more than 8 bytes
 *
 * Each is decoded from a heap block of exactly its size, where ASan sees a byte read too far, and from all its
 * beginnings, which are no instructions. The comparison with Zydis (e2e/cases/insn.sh) has the numbers; this has the
 * rules.
 */
#pragma once
#include "base/cleanup.h"
#include "base/test.h"
#include "synth/insn.h"
#include <stdarg.h>
#include <stdlib.h>

struct text {
    char s[160];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static inline void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->n += (size_t)vsnprintf(t->s + t->n, sizeof(t->s) - t->n, format, args);
    va_end(args);
}

static const char *const registers[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8",
                                        "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

static inline void add_operand(struct text *t, const char *before, const struct insn_operand *o)
{
    if (o->kind == INSN_REG)
        add(t, "%s%s", before, registers[o->reg]);
    else if (o->kind == INSN_IMM)
        add(t, "%s%lld", before, (long long)o->value);
    if (o->kind != INSN_MEM)
        return;
    add(t, "%s%s[", before, o->segment ? "fs:" : "");
    if (o->base != INSN_NO_REG)
        add(t, "%s", registers[o->base]);
    if (o->index != INSN_NO_REG)
        add(t, "+%s*%u", registers[o->index], o->scale);
    add(t, "%+d]", o->disp);
}

static inline void describe(const struct insn *i, struct text *t)
{
    static const char *const ops[] = {"-",   "nop",    "trap", "push", "pop", "leave", "ret",  "call", "jmp", "jcc",
                                      "mov", "movsxd", "lea",  "add",  "sub", "and",   "xchg", "inc",  "dec"};
    add(t, "%s", ops[i->op]);
    if (i->op > INSN_TRAP)
        add(t, ".%u", i->size);
    add_operand(t, " ", &i->a);
    add_operand(t, ", ", &i->b);
    if (i->writes)
        add(t, " =");
    for (u8 r = 0; r < 16; r++)
        if (i->writes >> r & 1)
            add(t, " %s", registers[r]);
    add(t, "%s%s%s", i->stores ? " store" : "", i->wide ? " wide" : "", i->address_size == 4 ? " addr4" : "");
}

static inline size_t from_hex(const char *hex, u8 *out)
{
    size_t n = 0;
    for (char *end; *hex && n < 32; hex = end)
        out[n++] = (u8)strtoul(hex, &end, 16);
    return n;
}

/* From a block of exactly `n` bytes. */
static inline size_t decode_copy(const u8 *bytes, size_t n, struct insn *out)
{
    AUTO_FREE u8 *block = malloc(n ? n : 1);
    memcpy(block, bytes, n);
    return insn_decode(n ? block : NULL, n, out);
}

static inline bool decodes_to(const char *hex, const char *expected)
{
    u8 bytes[32];
    size_t n = from_hex(hex, bytes);
    struct insn insn;
    u8 untouched[sizeof(insn)];
    memset(untouched, 0xa5, sizeof(untouched));
    memcpy(&insn, untouched, sizeof(insn));
    const void *output = &insn;
    for (size_t cut = 0; cut < n; cut++)
        if (decode_copy(bytes, cut, &insn) || memcmp(output, untouched, sizeof(insn)) != 0) {
            test_fail(__FILE__, __LINE__, "%s: the first %zu bytes are an instruction", hex, cut);
            return false;
        }
    struct text t = {.n = 0};
    size_t len = decode_copy(bytes, n, &insn);
    if (len)
        describe(&insn, &t);
    else
        add(&t, "invalid");
    if (!strcmp(t.s, expected) && (!len || (len == n && insn.len == n)))
        return true;
    test_fail(__FILE__, __LINE__, "%s: \"%s\", %zu bytes, not \"%s\", %zu bytes", hex, t.s, len, expected, n);
    return false;
}

struct row {
    const char *hex, *expected;
};

#define CHECK_ROWS(rows)                                               \
    do {                                                               \
        for (size_t i_ = 0; i_ < sizeof(rows) / sizeof(*(rows)); i_++) \
            if (!decodes_to((rows)[i_].hex, (rows)[i_].expected))      \
                return;                                                \
    } while (0)
