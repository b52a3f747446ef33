/* Taking an instruction apart: prefixes, opcode, ModRM and SIB, displacement, immediate; then its meaning is asked for.
 *
 * Every read goes through take(), which knows the end. What does not fit into 15 bytes is no instruction.
 */
#include "synth/insn_internal.h"

/* The next bytes, little-endian and sign-extended. False: they end before. */
static inline bool take(struct insn_code *c, u32 bytes, s64 *out)
{
    if (c->n - c->at < bytes)
        return false;
    u64 v = 0;
    for (u32 i = 0; i < bytes; i++)
        v |= (u64)c->bytes[c->at + i] << (8 * i);
    c->at += bytes;
    u32 unused = 64 - 8 * bytes;
    *out = bytes ? (s64)(v << unused) >> unused : 0;
    return true;
}

static inline bool take_byte(struct insn_code *c, u8 *out)
{
    if (c->at >= c->n)
        return false;
    *out = c->bytes[c->at++];
    return true;
}

/* A REX byte counts only directly before the opcode. */
static void set_rex(struct insn_code *c, u8 rex)
{
    c->rex = rex;
    c->wide = rex & 8;
    c->reg = (rex & 4) << 1;
    c->index_high = (rex & 2) << 2;
    c->rm_high = (rex & 1) << 3;
}

/* All legacy prefixes in any order. Those of segments without a base in 64-bit mode do nothing. */
static bool take_prefixes(struct insn_code *c)
{
    for (u8 b; take_byte(c, &b);) {
        if ((b & 0xf0) == 0x40) {
            set_rex(c, b);
            continue;
        }
        switch (b) {
        case 0x66:
            c->data16 = true;
            break;
        case 0x67:
            c->address4 = true;
            break;
        case 0xf0:
            c->lock = true;
            break;
        case 0xf2:
        case 0xf3:
            c->repeat = b;
            break;
        case 0x64:
        case 0x65:
            c->segment = true;
            break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
            break;
        default:
            c->opcode = b;
            return true;
        }
        set_rex(c, 0);
    }
    return false;
}

/* R, X and B of a vector prefix, which are inverted there. */
static void set_extensions(struct insn_code *c, u8 inverted)
{
    u8 b = (u8)~inverted;
    c->reg = b >> 4 & 8;
    c->index_high = b >> 3 & 8;
    c->rm_high = b >> 2 & 8;
}

/* W, vvvv and pp stand in the same places of all vector prefixes. */
static void set_vector(struct insn_code *c, u8 b)
{
    c->wide = b & 0x80;
    c->vvvv = (u8)~b >> 3 & 15;
    c->prefix = b & 3;
}

static bool take_vex(struct insn_code *c, bool two_bytes)
{
    u8 p0, p1;
    c->encoding = INSN_VEX;
    if (!take_byte(c, &p0))
        return false;
    set_extensions(c, two_bytes ? p0 | 0x60 : p0);
    c->map = two_bytes ? INSN_MAP_0F : p0 & 31;
    p1 = p0 & 0x7f;
    if (!two_bytes && !take_byte(c, &p1))
        return false;
    set_vector(c, p1);
    c->vector_bytes = p1 & 4 ? 32 : 16;
    return take_byte(c, &c->opcode);
}

/* P0's bit 3 and P1's bit 2 are fixed; APX gives them a meaning, and registers that `writes` has no bits for. */
static bool take_evex(struct insn_code *c)
{
    u8 p0, p1, p2;
    c->encoding = INSN_EVEX;
    if (!take_byte(c, &p0) || !take_byte(c, &p1) || !take_byte(c, &p2) || (p0 & 8) || !(p1 & 4))
        return false;
    set_extensions(c, p0);
    c->map = p0 & 7;
    set_vector(c, p1);
    c->vector_bytes = (u16)(16 << (p2 >> 5 & 3));
    return take_byte(c, &c->opcode);
}

static bool take_xop(struct insn_code *c)
{
    u8 p0, p1;
    c->encoding = INSN_XOP;
    if (!take_byte(c, &p0) || !take_byte(c, &p1))
        return false;
    set_extensions(c, p0);
    c->map = p0 & 31;
    set_vector(c, p1);
    c->vector_bytes = p1 & 4 ? 32 : 16;
    return take_byte(c, &c->opcode);
}

static bool take_escaped(struct insn_code *c)
{
    c->map = INSN_MAP_0F;
    if (!take_byte(c, &c->opcode))
        return false;
    if (c->opcode == 0x0f)
        c->map = INSN_MAP_3DNOW;
    if (c->opcode != 0x38 && c->opcode != 0x3a)
        return true;
    c->map = c->opcode == 0x38 ? INSN_MAP_0F38 : INSN_MAP_0F3A;
    return take_byte(c, &c->opcode);
}

/* What the byte behind the prefixes begins. Vector prefixes stand alone: with legacy ones before, they are invalid. 8F
 * is XOP's when the map that would follow is 8 or above, which no ModRM byte of `pop` says. */
static bool take_opcode(struct insn_code *c)
{
    u8 first = c->opcode;
    c->prefix = c->repeat == 0xf3 ? INSN_F3 : c->repeat == 0xf2 ? INSN_F2 : c->data16 ? INSN_66 : INSN_NP;
    if (first == 0x0f)
        return take_escaped(c);
    bool xop = first == 0x8f && c->at < c->n && (c->bytes[c->at] & 31) >= 8;
    if (first != 0xc4 && first != 0xc5 && first != 0x62 && !xop)
        return true;
    if (c->prefix || c->data16 || c->lock || c->rex)
        return false;
    return xop ? take_xop(c) : first == 0x62 ? take_evex(c) : take_vex(c, first == 0xc5);
}

/* No base with mod 0 and base 5 (then a displacement of 4 bytes follows), no index with index 4. */
static bool take_sib(struct insn_code *c)
{
    u8 sib;
    if (!take_byte(c, &sib))
        return false;
    u8 index = c->index_high | (sib >> 3 & 7);
    if (index != INSN_RSP) {
        c->mem.index = index;
        c->mem.scale = (u8)(1 << (sib >> 6));
    }
    if ((sib & 7) != 5 || c->mod)
        c->mem.base = c->rm_high | (sib & 7);
    return true;
}

static bool take_memory(struct insn_code *c, u8 rm)
{
    struct insn_operand *m = &c->mem;
    *m = (struct insn_operand){
        .kind = INSN_MEM, .base = INSN_NO_REG, .index = INSN_NO_REG, .scale = 1, .segment = c->segment};
    c->sib = rm == 4;
    if (c->sib && !take_sib(c))
        return false;
    if (!c->sib)
        m->base = rm == 5 && !c->mod ? INSN_RIP : c->rm_high | rm;
    bool far = c->mod == 2 || m->base == INSN_RIP || m->base == INSN_NO_REG;
    s64 disp;
    if (!take(c, far ? 4 : c->mod, &disp)) /* mod 0: none; 1: a byte */
        return false;
    m->disp = (s32)disp;
    return true;
}

/* Moves from and to control registers take any ModRM.mod for 3. */
static bool always_register(const struct insn_code *c)
{
    return c->encoding == INSN_LEGACY && c->map == INSN_MAP_0F && c->opcode >= 0x20 && c->opcode <= 0x23;
}

static bool take_modrm(struct insn_code *c)
{
    u8 b;
    if (!take_byte(c, &b))
        return false;
    c->mod = b >> 6;
    c->reg |= b >> 3 & 7;
    if (c->mod != 3 && !always_register(c))
        return take_memory(c, b & 7);
    c->mod = 3;
    c->rm = c->rm_high | (b & 7);
    return true;
}

static u32 immediate_bytes(const struct insn_code *c, u16 form)
{
    switch (form & FORM_IMM) {
    case IMM_8:
        return 1;
    case IMM_16:
        return 2;
    case IMM_24:
        return 3;
    case IMM_32:
        return 4;
    case IMM_OP:
        return c->size == 2 ? 2 : 4;
    case IMM_OP_64:
        return c->size;
    case IMM_ADDRESS:
        return c->address4 ? 4 : 8;
    }
    return 0;
}

static u16 form_of(struct insn_code *c)
{
    u16 form = insn_form(c);
    c->size = form & FORM_BYTE ? 1 : c->wide ? 8 : c->data16 ? 2 : 4;
    return form;
}

/* F6 and F7 have an immediate in one of their forms (test) only. */
static bool take_immediate(struct insn_code *c, u16 form)
{
    bool test = c->encoding == INSN_LEGACY && !c->map && (c->opcode & 0xfe) == 0xf6 && (c->reg & 6) == 0;
    if (test)
        form |= c->opcode == 0xf6 ? IMM_8 : IMM_OP;
    return take(c, immediate_bytes(c, form), &c->immediate);
}

static void apply_form(const struct insn_code *c, u16 form, struct insn *out)
{
    if (form & FORM_W_RM)
        insn_writes_rm(c, out, c->size);
    if (form & FORM_W_REG)
        insn_writes(out, insn_register(c, c->reg));
    if (form & FORM_W_OPCODE)
        insn_writes(out, insn_register(c, (u8)((c->opcode & 7) | c->rm_high)));
    if (form & FORM_W_AX)
        insn_writes(out, INSN_RAX);
    if (form & FORM_W_DX)
        insn_writes(out, INSN_RDX);
}

size_t insn_decode(const u8 *bytes, size_t n, struct insn *out)
{
    struct insn_code c = {.bytes = bytes, .n = n < INSN_MAX_BYTES ? (u32)n : INSN_MAX_BYTES, .vector_bytes = 16};
    if (!take_prefixes(&c) || !take_opcode(&c))
        return 0;
    u16 form = form_of(&c);
    if ((form & FORM_NONE) || ((form & FORM_MODRM) && !take_modrm(&c)) || !take_immediate(&c, form) || !insn_exists(&c))
        return 0;
    struct insn insn = {.len = (u8)c.at, .size = c.size, .address_size = c.address4 ? 4 : 8, .mem = c.mem};
    apply_form(&c, form, &insn);
    bool one_byte = !c.map && c.encoding == INSN_LEGACY;
    if (!(one_byte ? insn_integer(&c, &insn) : insn_extended(&c, &insn)))
        return 0;
    if (c.lock && !insn_lockable(&c, &insn))
        return 0;
    *out = insn;
    return c.at;
}
