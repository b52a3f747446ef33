/* The one-byte opcodes: what those with a meaning for the stack mean, and what the forms of groups change.
 *
 * Everything near here works on general registers; x87 (D8 to DF) stores memory and writes ax at most.
 */
#include "synth/insn_internal.h"

static struct insn_operand reg_operand(const struct insn_code *c, u8 number)
{
    return (struct insn_operand){.kind = INSN_REG, .reg = insn_register(c, number)};
}

static struct insn_operand rm_operand(const struct insn_code *c)
{
    return c->mem.kind == INSN_MEM ? c->mem : reg_operand(c, c->rm);
}

static struct insn_operand opcode_operand(const struct insn_code *c)
{
    return reg_operand(c, (u8)((c->opcode & 7) | c->rm_high));
}

static struct insn_operand immediate_operand(s64 value)
{
    return (struct insn_operand){.kind = INSN_IMM, .value = value};
}

static void named(struct insn *out, enum insn_op op, struct insn_operand a, struct insn_operand b)
{
    out->op = (u8)op;
    out->a = a;
    out->b = b;
}

static const struct insn_operand none = {.kind = INSN_NONE};

/* add, or, adc, sbb, and, sub, xor, cmp: in this order wherever three bits choose. */
static enum insn_op arithmetic_op(u8 number)
{
    static const u8 ops[8] = {[0] = INSN_ADD, [4] = INSN_AND, [5] = INSN_SUB};
    return ops[number];
}

static bool arithmetic(const struct insn_code *c, struct insn *out)
{
    enum insn_op op = arithmetic_op(c->opcode >> 3);
    struct insn_operand reg = reg_operand(c, c->reg), rm = rm_operand(c);
    u8 form = c->opcode & 7;
    if (op == INSN_OTHER)
        return true;
    if (form < 2)
        named(out, op, rm, reg);
    else if (form < 4)
        named(out, op, reg, rm);
    else
        named(out, op, reg_operand(c, INSN_RAX), immediate_operand(c->immediate));
    return true;
}

static bool arithmetic_group(const struct insn_code *c, struct insn *out)
{
    u8 number = c->reg & 7;
    if (number != 7)
        insn_writes_rm(c, out, c->size);
    enum insn_op op = arithmetic_op(number);
    if (op != INSN_OTHER)
        named(out, op, rm_operand(c), immediate_operand(c->immediate));
    return true;
}

/* Pushes and pops are of 8 bytes, with a 66 prefix of 2: then rsp moves by what is of no interest to anybody. */
static bool stack(const struct insn_code *c, struct insn *out, enum insn_op op, struct insn_operand a)
{
    if (op == INSN_PUSH)
        insn_stores(out, 8);
    if (op == INSN_LEAVE)
        insn_writes(out, INSN_RBP);
    if (c->data16 && !c->wide) {
        out->size = 2;
        insn_writes(out, INSN_RSP);
        return true;
    }
    out->size = 8;
    named(out, op, a, none);
    return true;
}

/* A near branch: its operand has 8 bytes whatever the prefixes say. */
static bool branch(struct insn *out, enum insn_op op, struct insn_operand a)
{
    out->size = 8;
    if (op == INSN_CALL)
        insn_stores(out, 8);
    named(out, op, a, none);
    return true;
}

/* loopne, loope, loop, jrcxz. */
static bool loop(const struct insn_code *c, struct insn *out)
{
    if (c->opcode != 0xe3)
        insn_writes(out, INSN_RCX);
    return branch(out, INSN_JCC, immediate_operand(c->immediate));
}

static bool trap(struct insn *out)
{
    named(out, INSN_TRAP, none, none);
    return true;
}

/* 90 is nop, but xchg with r8 where REX.B says so; not even then it is with F3: pause. */
static bool exchange(const struct insn_code *c, struct insn *out)
{
    if (c->opcode == 0x90 && (!c->rm_high || c->repeat == 0xf3)) {
        out->writes = 0;
        named(out, INSN_NOP, none, none);
    } else if (c->opcode >= 0x90) {
        named(out, INSN_XCHG, opcode_operand(c), reg_operand(c, INSN_RAX));
    } else {
        named(out, INSN_XCHG, rm_operand(c), reg_operand(c, c->reg));
    }
    return true;
}

/* String operations: rsi and rdi go on, rcx where they repeat, ins, movs and stos store, as much as rcx says. */
static bool string(const struct insn_code *c, struct insn *out)
{
    u8 kind = c->opcode >> 1;
    bool source = kind == 0x6e >> 1 || kind == 0xa4 >> 1 || kind == 0xa6 >> 1 || kind == 0xac >> 1;
    bool destination = kind != 0x6e >> 1 && kind != 0xac >> 1;
    if (source)
        insn_writes(out, INSN_RSI);
    if (destination)
        insn_writes(out, INSN_RDI);
    if (kind == 0x6c >> 1 || kind == 0xa4 >> 1 || kind == 0xaa >> 1)
        insn_stores(out, c->repeat ? INSN_UNKNOWN_BYTES : c->size);
    if (c->repeat)
        insn_writes(out, INSN_RCX);
    return true;
}

/* 8E and 8C: cs is no destination, two numbers name no segment. A store has 2 bytes. */
static bool segment_move(const struct insn_code *c, struct insn *out)
{
    u8 number = c->reg & 7;
    if (c->opcode == 0x8c)
        insn_writes_rm(c, out, 2);
    return number < 6 && (c->opcode == 0x8c || number != 1);
}

static bool move_immediate(const struct insn_code *c, struct insn *out, struct insn_operand a)
{
    s64 value = c->size == 4 ? (s64)(u32)c->immediate : c->immediate;
    named(out, INSN_MOV, a, immediate_operand(value));
    return true;
}

/* C6 and C7: mov; xabort and xbegin, which jumps when the transaction fails, with the reason in eax. */
static bool move_group(const struct insn_code *c, struct insn *out)
{
    if ((c->reg & 7) == 0) {
        insn_writes_rm(c, out, c->size);
        return move_immediate(c, out, rm_operand(c));
    }
    if ((c->reg & 7) != 7 || c->mod != 3 || (c->rm & 7))
        return false;
    insn_writes(out, INSN_RAX);
    return c->opcode == 0xc6 || branch(out, INSN_JCC, immediate_operand(c->immediate));
}

/* F6 and F7: test, test, not, neg, mul, imul, div, idiv. Bytes are multiplied and divided in ax alone. */
static bool multiply_group(const struct insn_code *c, struct insn *out)
{
    u8 number = c->reg & 7;
    if (number == 2 || number == 3)
        insn_writes_rm(c, out, c->size);
    if (number >= 4)
        insn_writes(out, INSN_RAX);
    if (number >= 4 && c->size != 1)
        insn_writes(out, INSN_RDX);
    return true;
}

/* FE and FF: inc, dec, call, far call, jmp, far jmp, push. A far call runs anything; from a far jump nothing comes
 * back. */
static bool increment_group(const struct insn_code *c, struct insn *out)
{
    u8 number = c->reg & 7;
    struct insn_operand a = rm_operand(c);
    if (number < 2) {
        insn_writes_rm(c, out, c->size);
        named(out, number ? INSN_DEC : INSN_INC, a, none);
        return true;
    }
    if (c->opcode == 0xfe || number == 7 || ((number == 3 || number == 5) && c->mod == 3))
        return false;
    if (number == 6)
        return stack(c, out, INSN_PUSH, a);
    if (number == 5)
        return trap(out);
    if (number == 3) {
        out->writes = 0xffff;
        insn_stores(out, INSN_UNKNOWN_BYTES);
        return true;
    }
    return branch(out, number == 2 ? INSN_CALL : INSN_JMP, a);
}

/* Bytes that an x87 instruction stores to memory, by the opcode's low bits and ModRM.reg; 0: none. fnstenv and fnsave
 * store more than a register holds. */
static u8 x87_stored(const struct insn_code *c)
{
    static const u8 bytes[8][8] = {
        [1] = {0, 0, 4, 4, 0, 0, 28, 2},
        [3] = {0, 4, 4, 4, 0, 0, 0, 10},
        [5] = {0, 8, 8, 8, 0, 0, 108, 2},
        [7] = {0, 2, 2, 2, 0, 0, 10, 8},
    };
    return bytes[c->opcode & 7][c->reg & 7];
}

/* DF E0: fnstsw ax. */
static bool x87(const struct insn_code *c, struct insn *out)
{
    if (c->mem.kind == INSN_MEM) {
        u8 bytes = x87_stored(c);
        if (bytes)
            insn_stores(out, bytes);
    } else if (c->opcode == 0xdf && (c->reg & 7) == 4 && (c->rm & 7) == 0) {
        insn_writes(out, INSN_RAX);
    }
    return true;
}

static bool low_half(const struct insn_code *c, struct insn *out)
{
    switch (c->opcode) {
    case 0x50 ... 0x57:
        return stack(c, out, INSN_PUSH, opcode_operand(c));
    case 0x58 ... 0x5f:
        return stack(c, out, INSN_POP, opcode_operand(c));
    case 0x63: /* movsxd; without W a strange mov */
        if (c->wide)
            named(out, INSN_MOVSXD, reg_operand(c, c->reg), rm_operand(c));
        return true;
    case 0x68:
    case 0x6a:
        return stack(c, out, INSN_PUSH, immediate_operand(c->immediate));
    case 0x6c ... 0x6f:
        return string(c, out);
    case 0x70 ... 0x7f:
        return branch(out, INSN_JCC, immediate_operand(c->immediate));
    }
    return c->opcode >= 0x40 || arithmetic(c, out);
}

static bool third_quarter(const struct insn_code *c, struct insn *out)
{
    switch (c->opcode) {
    case 0x80 ... 0x83:
        return arithmetic_group(c, out);
    case 0x86:
    case 0x87:
    case 0x90 ... 0x97:
        return exchange(c, out);
    case 0x88:
    case 0x89:
        named(out, INSN_MOV, rm_operand(c), reg_operand(c, c->reg));
        return true;
    case 0x8a:
    case 0x8b:
        named(out, INSN_MOV, reg_operand(c, c->reg), rm_operand(c));
        return true;
    case 0x8c:
    case 0x8e:
        return segment_move(c, out);
    case 0x8d:
        out->mem.segment = false; /* an address, not what lies there */
        named(out, INSN_LEA, reg_operand(c, c->reg), out->mem);
        return c->mem.kind == INSN_MEM;
    case 0x8f:
        if (c->mem.kind == INSN_MEM)
            insn_stores(out, 8);
        return (c->reg & 7) == 0 && stack(c, out, INSN_POP, rm_operand(c));
    case 0x9c:
        return stack(c, out, INSN_PUSH, none);
    case 0x9d:
        return stack(c, out, INSN_POP, none);
    case 0xa2: /* to an address that no operand here can hold */
    case 0xa3:
        insn_stores(out, c->size);
        return true;
    case 0xa4 ... 0xa7:
    case 0xaa ... 0xaf:
        return string(c, out);
    case 0xb0 ... 0xbf:
        return move_immediate(c, out, opcode_operand(c));
    }
    return true;
}

static bool last_quarter(const struct insn_code *c, struct insn *out)
{
    switch (c->opcode) {
    case 0xc2:
        return branch(out, INSN_RET, immediate_operand((u16)c->immediate));
    case 0xc3:
        return branch(out, INSN_RET, none);
    case 0xc6:
    case 0xc7:
        return move_group(c, out);
    case 0xc8: /* enter: copies as many frame pointers as it is told to */
        insn_writes(out, INSN_RSP);
        insn_writes(out, INSN_RBP);
        insn_stores(out, INSN_UNKNOWN_BYTES);
        return true;
    case 0xc9:
        return stack(c, out, INSN_LEAVE, none);
    case 0xca:
    case 0xcb:
    case 0xcc:
    case 0xcf:
    case 0xf1:
    case 0xf4:
        return trap(out);
    case 0xd8 ... 0xdf:
        return x87(c, out);
    case 0xe0 ... 0xe3:
        return loop(c, out);
    case 0xe8:
        return branch(out, INSN_CALL, immediate_operand(c->immediate));
    case 0xe9:
    case 0xeb:
        return branch(out, INSN_JMP, immediate_operand(c->immediate));
    case 0xf6:
    case 0xf7:
        return multiply_group(c, out);
    case 0xfe:
    case 0xff:
        return increment_group(c, out);
    }
    return true;
}

bool insn_integer(const struct insn_code *c, struct insn *out)
{
    return c->opcode < 0x80 ? low_half(c, out) : c->opcode < 0xc0 ? third_quarter(c, out) : last_quarter(c, out);
}
