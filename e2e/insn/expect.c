/* Zydis' answer translated: mnemonics to the few operations, operands (hidden ones, too) to registers that are written
 * and to stores.
 */
#include "e2e/insn/expect.h"
#include <string.h>

/* Zydis lists general registers of each size in hardware order. */
static u8 general(ZydisRegister r)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
    return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? (u8)(whole - ZYDIS_REGISTER_RAX) : INSN_NO_REG;
}

static u8 base_register(ZydisRegister r)
{
    return r == ZYDIS_REGISTER_RIP || r == ZYDIS_REGISTER_EIP ? INSN_RIP : general(r);
}

static enum insn_op system_op(const ZydisDecodedInstruction *z)
{
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_RSM:
    case ZYDIS_MNEMONIC_UIRET:
        return INSN_TRAP;
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_ENDBR32:
    case ZYDIS_MNEMONIC_ENDBR64:
    case ZYDIS_MNEMONIC_LFENCE:
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_SFENCE:
    case ZYDIS_MNEMONIC_PAUSE:
    case ZYDIS_MNEMONIC_CLDEMOTE:
    case ZYDIS_MNEMONIC_PREFETCHWT1:
        return INSN_NOP;
    default:
        return z->meta.category == ZYDIS_CATEGORY_PREFETCH ? INSN_NOP : INSN_OTHER;
    }
}

static bool is_far(const ZydisDecodedInstruction *z)
{
    return z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
}

static enum insn_op control_op(const ZydisDecodedInstruction *z)
{
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_CALL:
        return is_far(z) ? INSN_OTHER : INSN_CALL;
    case ZYDIS_MNEMONIC_JMP:
        return is_far(z) ? INSN_TRAP : INSN_JMP;
    case ZYDIS_MNEMONIC_RET:
        return is_far(z) ? INSN_TRAP : INSN_RET;
    case ZYDIS_MNEMONIC_XBEGIN:
        return INSN_JCC;
    default:
        return z->meta.category == ZYDIS_CATEGORY_COND_BR && z->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE ? INSN_JCC
                                                                                                           : INSN_OTHER;
    }
}

static bool special(ZydisRegister r)
{
    ZydisRegisterClass c = ZydisRegisterGetClass(r);
    return c == ZYDIS_REGCLASS_SEGMENT || c == ZYDIS_REGCLASS_CONTROL || c == ZYDIS_REGCLASS_DEBUG;
}

/* Moves of 8-byte addresses and of special registers are nothing of interest. */
static bool plain_move(const struct expectation *e)
{
    for (unsigned i = 0; i < 2; i++)
        if (e->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && special(e->operands[i].reg.value))
            return false;
    return e->zydis.opcode < 0xa0 || e->zydis.opcode > 0xa3;
}

static enum insn_op stack_op(const struct expectation *e)
{
    const ZydisDecodedInstruction *z = &e->zydis;
    bool whole = z->operand_width == 64;
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ:
        return whole ? INSN_PUSH : INSN_OTHER;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPFQ:
        return whole ? INSN_POP : INSN_OTHER;
    case ZYDIS_MNEMONIC_LEAVE:
        return whole ? INSN_LEAVE : INSN_OTHER;
    default:
        return INSN_OTHER;
    }
}

static enum insn_op integer_op(const struct expectation *e)
{
    switch (e->zydis.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        return plain_move(e) ? INSN_MOV : INSN_OTHER;
    case ZYDIS_MNEMONIC_MOVSXD:
        return e->zydis.operand_width == 64 ? INSN_MOVSXD : INSN_OTHER;
    case ZYDIS_MNEMONIC_LEA:
        return INSN_LEA;
    case ZYDIS_MNEMONIC_ADD:
        return INSN_ADD;
    case ZYDIS_MNEMONIC_SUB:
        return INSN_SUB;
    case ZYDIS_MNEMONIC_AND:
        return INSN_AND;
    case ZYDIS_MNEMONIC_XCHG:
        return INSN_XCHG;
    case ZYDIS_MNEMONIC_INC:
        return INSN_INC;
    case ZYDIS_MNEMONIC_DEC:
        return INSN_DEC;
    default:
        return stack_op(e);
    }
}

static enum insn_op op_of(const struct expectation *e)
{
    enum insn_op op = system_op(&e->zydis);
    if (op == INSN_OTHER)
        op = control_op(&e->zydis);
    return op == INSN_OTHER ? integer_op(e) : op;
}

static struct insn_operand memory(const ZydisDecodedOperand *o)
{
    struct insn_operand m = {.kind = INSN_MEM, .base = base_register(o->mem.base), .index = general(o->mem.index)};
    m.scale = m.index == INSN_NO_REG ? 1 : o->mem.scale;
    m.segment = o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS;
    m.disp = (s32)o->mem.disp.value;
    return m;
}

/* Zydis' immediates are sign-extended where the processor does it, but not those of `mov` that are as wide as the
 * register, and ours is of 64 bits. */
static struct insn_operand operand(const ZydisDecodedOperand *o, enum insn_op op, u8 size)
{
    switch (o->type) {
    case ZYDIS_OPERAND_TYPE_MEMORY:
        return memory(o);
    case ZYDIS_OPERAND_TYPE_REGISTER:
        return special(o->reg.value) ? (struct insn_operand){.kind = INSN_NONE}
                                     : (struct insn_operand){.kind = INSN_REG, .reg = general(o->reg.value)};
    case ZYDIS_OPERAND_TYPE_IMMEDIATE: {
        s64 value = o->imm.is_signed ? o->imm.value.s : (s64)o->imm.value.u;
        u32 unused = op == INSN_RET || size > 8 ? 0 : 64 - 8 * size;
        value = op == INSN_MOV && size == 4 ? (s64)(u32)value : (s64)((u64)value << unused) >> unused;
        return (struct insn_operand){.kind = INSN_IMM, .value = value};
    }
    default:
        return (struct insn_operand){.kind = INSN_NONE};
    }
}

static bool moves_stack_pointer(enum insn_op op)
{
    return op == INSN_PUSH || op == INSN_POP || op == INSN_CALL || op == INSN_RET || op == INSN_LEAVE;
}

static void effects(struct expectation *e)
{
    struct insn *i = &e->insn;
    for (unsigned k = 0; k < e->zydis.operand_count; k++) {
        const ZydisDecodedOperand *o = &e->operands[k];
        bool hidden = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
        bool agen = o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type == ZYDIS_MEMOP_TYPE_AGEN;
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && !hidden && !e->memory) {
            e->memory = o;
            i->mem = memory(o);
        }
        if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) || agen)
            continue;
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            i->stores = true;
            i->wide |= o->size > 64;
        } else if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
            u8 reg = general(o->reg.value);
            if (reg != INSN_NO_REG && !(hidden && reg == INSN_RSP && moves_stack_pointer(i->op)))
                i->writes |= (u16)(1u << reg);
        }
    }
}

void expect(const ZydisDecoder *decoder, const u8 *bytes, size_t n, struct expectation *out)
{
    memset(&out->insn, 0, sizeof(out->insn));
    out->memory = NULL;
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder, bytes, n, &out->zydis, out->operands)))
        return;
    struct insn *i = &out->insn;
    i->len = out->zydis.length;
    i->op = (u8)op_of(out);
    bool branches = i->op >= INSN_RET && i->op <= INSN_JCC;
    i->size = branches ? 8 : out->zydis.operand_width / 8;
    i->address_size = out->zydis.address_width / 8;
    effects(out);
    u8 operands = out->zydis.operand_count_visible;
    if (i->op != INSN_OTHER && operands > 0)
        i->a = operand(&out->operands[0], i->op, i->size);
    if (i->op != INSN_OTHER && operands > 1)
        i->b = operand(&out->operands[1], i->op, i->size);
}
