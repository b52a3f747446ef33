/* Vector instructions, those of legacy encodings included: which of them change general registers, and what they store.
 *
 * Most change vector registers only and are not named here. Stores are asked for first: their size is also the unit of
 * EVEX's short displacements.
 */
#include "synth/insn_internal.h"

/* Bytes that moves of the map 0F store where rm is memory, the same in all encodings; 0: it is no store. */
static u32 stored_0f(const struct insn_code *c)
{
    bool narrow = c->prefix <= INSN_66;
    switch (c->opcode) {
    case 0x11: /* movups, movss, movsd, movntps, movntss */
    case 0x2b:
        return narrow ? c->vector_bytes : c->prefix == INSN_F3 ? 4 : 8;
    case 0x13: /* movlps, movhps */
    case 0x17:
        return narrow ? 8 : 0;
    case 0x29: /* movaps */
        return c->vector_bytes;
    case 0x7e: /* movd */
        return narrow ? (c->wide ? 8 : 4) : 0;
    case 0x7f: /* movq of MMX, movdqa, movdqu */
        return c->prefix == INSN_NP ? 8 : c->vector_bytes;
    case 0x91: /* kmov */
        return c->prefix == INSN_66 ? (c->wide ? 4 : 1) : c->wide ? 8 : 2;
    case 0xae: /* vstmxcsr */
        return c->encoding == INSN_VEX && (c->reg & 7) == 3 ? 4 : 0;
    case 0xc3: /* movnti */
        return c->size;
    case 0xd6: /* movq */
        return 8;
    case 0xe7: /* movntq, movntdq */
        return c->prefix == INSN_NP ? 8 : c->prefix == INSN_66 ? c->vector_bytes : 0;
    }
    return 0;
}

/* vpmov: narrower elements. The low digit chooses from what to what, thus how much of the vector is left. */
static u32 narrowed(const struct insn_code *c)
{
    static const u8 ratio[6] = {2, 4, 8, 2, 4, 2};
    u8 low = c->opcode & 15;
    bool narrows = c->prefix == INSN_F3 && c->opcode >= 0x10 && c->opcode <= 0x35 && low < 6;
    return narrows ? c->vector_bytes / ratio[low] : 0;
}

static u32 stored_vex_0f38(const struct insn_code *c)
{
    switch (c->opcode) {
    case 0x2e: /* vmaskmovps */
    case 0x2f:
    case 0x8e: /* vpmaskmov */
        return c->vector_bytes;
    case 0x49: /* sttilecfg */
        return c->prefix == INSN_66 ? 64 : 0;
    case 0xe0 ... 0xef: /* cmpccxadd */
        return c->wide ? 8 : 4;
    }
    return 0;
}

/* Of compressing stores, which are as long as the mask has bits, one element. */
static u32 stored_evex_0f38(const struct insn_code *c)
{
    switch (c->opcode) {
    case 0x63: /* vpcompressb, w */
        return c->wide ? 2 : 1;
    case 0x8a: /* vcompressps, vpcompressd */
    case 0x8b:
        return c->wide ? 8 : 4;
    }
    return narrowed(c);
}

static u32 stored_0f3a(const struct insn_code *c)
{
    switch (c->opcode) {
    case 0x14: /* pextrb, pextrw, pextrd, extractps */
    case 0x15:
        return c->opcode & 3 ? 2 : 1;
    case 0x16:
        return c->wide ? 8 : 4;
    case 0x17:
        return 4;
    case 0x19: /* vextractf128 */
    case 0x39:
        return 16;
    case 0x1b: /* vextractf32x8 */
    case 0x3b:
        return 32;
    case 0x1d: /* vcvtps2ph */
        return c->vector_bytes / 2;
    }
    return 0;
}

/* AVX512-FP16: vmovsh, vmovw. */
static u32 stored_5(const struct insn_code *c)
{
    return c->opcode == 0x11 || c->opcode == 0x7e ? 2 : 0;
}

static u32 stored(const struct insn_code *c)
{
    switch (c->map) {
    case INSN_MAP_0F:
        return stored_0f(c);
    case INSN_MAP_0F38:
        return c->encoding == INSN_EVEX ? stored_evex_0f38(c) : c->encoding == INSN_VEX ? stored_vex_0f38(c) : 0;
    case INSN_MAP_0F3A:
        return stored_0f3a(c);
    case INSN_MAP_5:
        return stored_5(c);
    }
    return 0;
}

/* A displacement of one byte counts units that depend on the instruction: known here for stores, and nobody asks for
 * more. */
static void set_memory(const struct insn_code *c, struct insn *out, u32 bytes)
{
    bool compresses = c->encoding == INSN_EVEX && c->map == INSN_MAP_0F38 && !narrowed(c);
    if (bytes)
        insn_stores(out, compresses ? INSN_UNKNOWN_BYTES : bytes);
    if (c->encoding == INSN_EVEX && c->mod == 1 && bytes)
        out->mem.disp *= (s32)bytes;
    else if (c->encoding == INSN_EVEX && c->mod == 1)
        out->mem = (struct insn_operand){.kind = INSN_NONE};
}

static void registers_0f(const struct insn_code *c, struct insn *out)
{
    switch (c->opcode) {
    case 0x2c: /* cvttss2si, cvtss2si */
    case 0x2d:
    case 0x78: /* vcvttss2usi, vcvtss2usi */
    case 0x79:
        if (c->prefix >= INSN_F3 && (c->opcode < 0x78 || c->encoding == INSN_EVEX))
            insn_writes(out, c->reg);
        break;
    case 0x50: /* movmskps */
    case 0x93: /* kmov */
    case 0xc5: /* pextrw */
    case 0xd7: /* pmovmskb */
        insn_writes(out, c->reg);
        break;
    case 0x7e: /* movd */
        if (c->prefix <= INSN_66 && !insn_has_memory(c))
            insn_writes(out, c->rm);
        break;
    case 0xf7: /* maskmovq, maskmovdqu: to rdi */
        insn_stores(out, c->prefix == INSN_NP ? 8 : 16);
        break;
    }
}

static void registers_vex_0f38(const struct insn_code *c, struct insn *out)
{
    switch (c->opcode) {
    case 0x4b: /* tilestored: rows with a distance */
        if (c->prefix == INSN_F3)
            insn_stores_elsewhere(out);
        break;
    case 0xf3: /* blsr, blsmsk, blsi */
        insn_writes(out, c->vvvv);
        break;
    case 0xf6: /* mulx */
        insn_writes(out, c->vvvv);
        insn_writes(out, c->reg);
        break;
    case 0xe0 ... 0xef: /* cmpccxadd */
    case 0xf2:          /* andn; bzhi, pext, pdep; bextr, shlx, sarx, shrx */
    case 0xf5:
    case 0xf7:
        insn_writes(out, c->reg);
        break;
    }
}

static void registers_0f3a(const struct insn_code *c, struct insn *out)
{
    switch (c->opcode) {
    case 0x14 ... 0x17:
        if (!insn_has_memory(c))
            insn_writes(out, c->rm);
        break;
    case 0x61: /* pcmpestri, pcmpistri */
    case 0x63:
        insn_writes(out, INSN_RCX);
        break;
    case 0xf0: /* rorx */
        if (c->encoding == INSN_VEX)
            insn_writes(out, c->reg);
        break;
    }
}

/* vcvtsh2si, vcvtsh2usi, vmovw. */
static void registers_5(const struct insn_code *c, struct insn *out)
{
    u8 low = c->opcode & 0xfe;
    if ((low == 0x2c || low == 0x78) && c->prefix == INSN_F3)
        insn_writes(out, c->reg);
    if (c->opcode == 0x7e && !insn_has_memory(c))
        insn_writes(out, c->rm);
}

/* Trailing bits (map 9: 01, 02), slwpcb, and bextr (map 10). */
static void registers_xop(const struct insn_code *c, struct insn *out)
{
    if (c->map == INSN_MAP_XOP_9 && (c->opcode == 1 || c->opcode == 2))
        insn_writes(out, c->vvvv);
    if (c->map == INSN_MAP_XOP_9 && c->opcode == 0x12)
        insn_writes(out, c->rm);
    if (c->map == INSN_MAP_XOP_10 && c->opcode == 0x10)
        insn_writes(out, c->reg);
}

static void set_registers(const struct insn_code *c, struct insn *out)
{
    switch (c->map) {
    case INSN_MAP_0F:
        registers_0f(c, out);
        break;
    case INSN_MAP_0F38:
        if (c->encoding == INSN_VEX)
            registers_vex_0f38(c, out);
        else if (c->encoding == INSN_EVEX && c->opcode >= 0xa0 && c->opcode <= 0xa3) /* scatters */
            insn_stores_elsewhere(out);
        break;
    case INSN_MAP_0F3A:
        registers_0f3a(c, out);
        break;
    case INSN_MAP_5:
        registers_5(c, out);
        break;
    case INSN_MAP_7: /* urdmsr; uwrmsr changes none */
        if (c->prefix == INSN_F2)
            insn_writes(out, c->rm);
        break;
    }
}

/* Gathers, scatters, and prefetches of those: the index is a vector. */
static bool is_vsib(const struct insn_code *c)
{
    if (c->map != INSN_MAP_0F38 || (c->encoding != INSN_VEX && c->encoding != INSN_EVEX))
        return false;
    u8 o = c->opcode;
    bool gathers = o >= 0x90 && o <= 0x93;
    return gathers || (c->encoding == INSN_EVEX && ((o >= 0xa0 && o <= 0xa3) || o == 0xc6 || o == 0xc7));
}

bool insn_vector(const struct insn_code *c, struct insn *out)
{
    if (insn_has_memory(c))
        set_memory(c, out, stored(c));
    if (c->encoding == INSN_XOP)
        registers_xop(c, out);
    else
        set_registers(c, out);
    if (!is_vsib(c))
        return true;
    out->mem = (struct insn_operand){.kind = INSN_NONE};
    return c->sib;
}
