/* Differences from Zydis 4.0 that are meant: what the contract of agent/synth/insn.h leaves out, what is taken to
 * change more than it must, what Zydis lists wrongly or does not know.
 */
#include "e2e/insn/expect.h"
#include <string.h>

static bool category(const struct pair *p, ZydisInstructionCategory category)
{
    return p->zydis->zydis.meta.category == category;
}

static bool writes_more(const struct pair *p)
{
    return (p->ours->writes & p->zydis->insn.writes) == p->zydis->insn.writes;
}

static bool no_mem(const struct pair *p)
{
    return p->ours->mem.kind == INSN_NONE;
}

static bool repeats(const struct pair *p)
{
    return (category(p, ZYDIS_CATEGORY_STRINGOP) || category(p, ZYDIS_CATEGORY_IOSTRINGOP)) && p->ours->wide;
}

static bool asks_the_kernel(const struct pair *p)
{
    ZydisMnemonic m = p->zydis->zydis.mnemonic;
    return (m == ZYDIS_MNEMONIC_SYSCALL || m == ZYDIS_MNEMONIC_SYSENTER || m == ZYDIS_MNEMONIC_INT) && writes_more(p);
}

static bool evex_load(const struct pair *p)
{
    return no_mem(p) && p->zydis->zydis.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX &&
           p->zydis->zydis.raw.modrm.mod == 1 && !p->ours->stores;
}

static bool string_operand(const struct pair *p)
{
    return no_mem(p) && (category(p, ZYDIS_CATEGORY_STRINGOP) || category(p, ZYDIS_CATEGORY_IOSTRINGOP));
}

static bool moves_address(const struct pair *p)
{
    u8 opcode = p->zydis->zydis.opcode;
    return no_mem(p) && p->zydis->zydis.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && opcode >= 0xa0 && opcode <= 0xa3;
}

static bool bit_string(const struct pair *p)
{
    ZydisMnemonic m = p->zydis->zydis.mnemonic;
    return (m == ZYDIS_MNEMONIC_BTS || m == ZYDIS_MNEMONIC_BTR || m == ZYDIS_MNEMONIC_BTC) && no_mem(p) &&
           p->ours->wide;
}

static bool scattered(const struct pair *p)
{
    const ZydisDecodedOperand *m = p->zydis->memory;
    bool rows = p->zydis->zydis.mnemonic == ZYDIS_MNEMONIC_TILESTORED;
    return no_mem(p) && m && (m->mem.type == ZYDIS_MEMOP_TYPE_VSIB || rows);
}

static bool moves_line(const struct pair *p)
{
    ZydisMnemonic m = p->zydis->zydis.mnemonic;
    return p->ours->stores && p->ours->wide &&
           (m == ZYDIS_MNEMONIC_MOVDIR64B || m == ZYDIS_MNEMONIC_ENQCMD || m == ZYDIS_MNEMONIC_ENQCMDS ||
            m == ZYDIS_MNEMONIC_CLZERO);
}

static bool string_registers(const struct pair *p)
{
    return string_operand(p) && writes_more(p);
}

static bool frames_copied(const struct pair *p)
{
    return p->zydis->zydis.mnemonic == ZYDIS_MNEMONIC_ENTER && p->ours->wide;
}

static bool far_call(const struct pair *p)
{
    return p->zydis->zydis.mnemonic == ZYDIS_MNEMONIC_CALL &&
           p->zydis->zydis.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR && p->ours->stores && p->ours->wide &&
           writes_more(p);
}

static bool other_side(const struct pair *p)
{
    const ZydisDecodedInstruction *z = &p->zydis->zydis;
    bool group = z->opcode_map == ZYDIS_OPCODE_MAP_0F && (z->opcode == 0x01 || z->opcode == 0x37);
    return group && writes_more(p);
}

static bool lightweight_profiling(const struct pair *p)
{
    ZydisMnemonic m = p->zydis->zydis.mnemonic;
    return m == ZYDIS_MNEMONIC_LWPINS || m == ZYDIS_MNEMONIC_LWPVAL;
}

static bool padlock(const struct pair *p)
{
    return category(p, ZYDIS_CATEGORY_PADLOCK) && p->ours->wide && writes_more(p);
}

/* The opcode, behind all prefixes, where Zydis knows no instruction. */
static const u8 *opcode(const struct pair *p)
{
    const u8 *b = p->bytes;
    while (is_prefix(*b))
        b++;
    return b;
}

static bool reserved_fields(const struct pair *p)
{
    u8 b = *opcode(p);
    return b == 0xc4 || b == 0xc5 || b == 0x62 || b == 0x8f;
}

/* RAO-INT and USER-MSR, LKGS and FRED, MSRLIST. */
static bool newer(const struct pair *p)
{
    const u8 *b = opcode(p);
    if (b[0] != 0x0f)
        return false;
    return (b[1] == 0x00 && (b[2] & 0x38) == 0x30) || (b[1] == 0x01 && (b[2] == 0xc6 || b[2] == 0xca)) ||
           (b[1] == 0x38 && (b[2] == 0xfc || (b[2] == 0xf8 && b[3] >= 0xc0)));
}

static bool bounds(const struct pair *p)
{
    const u8 *b = opcode(p);
    return b[0] == 0x0f && (b[1] == 0x1a || b[1] == 0x1b);
}

/* Mod 0 and a base of 5 say that there is none, whatever REX.B adds (SDM volume 2, 2.2.1.2). */
static bool base_r13d(const struct pair *p)
{
    const ZydisDecodedInstruction *z = &p->zydis->zydis;
    return z->address_width == 32 && z->raw.modrm.mod == 0 && z->raw.modrm.rm == 4 && z->raw.sib.base == 5 &&
           p->zydis->insn.mem.base == 13 && p->ours->mem.base == INSN_NO_REG;
}

static bool knights_corner(const struct pair *p)
{
    const ZydisDecodedInstruction *z = &p->zydis->zydis;
    return z->encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX || z->meta.isa_set == ZYDIS_ISA_SET_KNCJKBR ||
           z->meta.isa_set == ZYDIS_ISA_SET_KNC_MISC || z->meta.isa_set == ZYDIS_ISA_SET_KNCE ||
           z->meta.isa_set == ZYDIS_ISA_SET_KNCV || z->meta.isa_set == ZYDIS_ISA_SET_KNCSTREAM;
}

static const struct reason {
    const char *field, *text;
    bool (*holds)(const struct pair *p);
} reasons[] = {
    {"wide", "a string operation that repeats stores as much as rcx says, not one element", repeats},
    {"writes", "string operations move rsi and rdi, which Zydis lists as read only for some", string_registers},
    {"writes", "the kernel answers in rax", asks_the_kernel},
    {"mem", "the operands of string operations are registers that everybody knows", string_operand},
    {"mem", "the unit of EVEX's short displacement is known of stores only", evex_load},
    {"mem", "an address of 8 bytes does not fit into an operand", moves_address},
    {"mem", "a bit's number in a register leads to other memory", bit_string},
    {"wide", "a bit's number in a register leads to other memory", bit_string},
    {"mem", "a vector of addresses, or rows at distances, are no operand", scattered},
    {"wide", "a vector of addresses, or rows at distances, are no operand", scattered},
    {"mem", "stores to where a register points, of which Zydis lists nothing", moves_line},
    {"stores", "stores to where a register points, of which Zydis lists nothing", moves_line},
    {"wide", "stores to where a register points, of which Zydis lists nothing", moves_line},
    {"wide", "enter copies as many frame pointers as it is told to", frames_copied},
    {"writes", "far calls run anything", far_call},
    {"wide", "far calls run anything", far_call},
    {"writes", "a hypervisor or enclave may change anything", other_side},
    {"writes", "VIA's ciphers are taken to change whatever they use", padlock},
    {"stores", "VIA's ciphers are taken to change whatever they use", padlock},
    {"wide", "VIA's ciphers are taken to change whatever they use", padlock},
    {"writes", "lwpins and lwpval only read the register in vvvv (AMD APM)", lightweight_profiling},
    {"valid", "newer than Zydis 4.0", newer},
    {"valid", "hints on processors without MPX, whatever the operands", bounds},
    {"valid", "reserved values in the fields of vector encodings are not looked for", reserved_fields},
    {"mem", "Zydis forgets a segment before bounds", bounds},
    {"mem", "with a 67 prefix, Zydis takes r13d for a base that is none", base_r13d},
    {"a", "with a 67 prefix, Zydis takes r13d for a base that is none", base_r13d},
    {"b", "with a 67 prefix, Zydis takes r13d for a base that is none", base_r13d},
    {"address size", "hints on processors without MPX, whatever the operands", bounds},
    {"invalid", "no x86-64 processor but Knights Corner has it", knights_corner},
};

const char *reason_of(const char *field, const struct pair *p)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        if (!strcmp(reasons[i].field, field) && reasons[i].holds(p))
            return reasons[i].text;
    return NULL;
}
