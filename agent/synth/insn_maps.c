/* The opcode maps as tables: what follows an opcode and, where the whole opcode does the same, what it changes.
 *
 * Sixteen entries a row, a row per high half of the opcode, as the manuals print them.
 */
#include "synth/insn_internal.h"

/* clang-format off */
enum {
    ___ = FORM_NONE,
    Nop = 0,
    M   = FORM_MODRM,             Mb  = M | FORM_BYTE,
    Mi  = M | IMM_8,              Mbi = Mb | IMM_8,          Mz  = M | IMM_OP,
    E   = M | FORM_W_RM,          Eb  = Mb | FORM_W_RM,      Ei  = E | IMM_8,       Ebi = Eb | IMM_8,
    G   = M | FORM_W_REG,         Gb  = Mb | FORM_W_REG,     Gi  = G | IMM_8,       Gz  = G | IMM_OP,
    EG  = E | FORM_W_REG,         EGb = Eb | FORM_W_REG,
    EA  = E | FORM_W_AX,          EAb = Eb | FORM_W_AX,
    Z   = FORM_W_OPCODE,          Zb  = Z | FORM_BYTE | IMM_8, Zv = Z | IMM_OP_64,  ZA  = Z | FORM_W_AX,
    A   = FORM_W_AX,              Ab  = A | FORM_BYTE,       Ai  = Ab | IMM_8,      Az  = A | IMM_OP,
    Ao  = A | IMM_ADDRESS,        Abo = Ab | IMM_ADDRESS,    D   = FORM_W_DX,       AD  = A | D,
    B   = FORM_BYTE,              Bi  = B | IMM_8,           Bo  = B | IMM_ADDRESS, O   = IMM_ADDRESS,
    I   = IMM_8,                  Iw  = IMM_16,              Iz  = IMM_OP,          J   = IMM_32,
    In  = IMM_24,                 A_i = A | IMM_8
};

static const u16 one_byte[256] = {
    Eb,  E,   Gb,  G,   Ai,  Az,  ___, ___,   Eb,  E,   Gb,  G,   Ai,  Az,  ___, ___, /* 00 */
    Eb,  E,   Gb,  G,   Ai,  Az,  ___, ___,   Eb,  E,   Gb,  G,   Ai,  Az,  ___, ___,
    Eb,  E,   Gb,  G,   Ai,  Az,  ___, ___,   Eb,  E,   Gb,  G,   Ai,  Az,  ___, ___, /* 20 */
    Eb,  E,   Gb,  G,   Ai,  Az,  ___, ___,   Mb,  M,   Mb,  M,   Bi,  Iz,  ___, ___,
    ___, ___, ___, ___, ___, ___, ___, ___,   ___, ___, ___, ___, ___, ___, ___, ___, /* 40 */
    Nop, Nop, Nop, Nop, Nop, Nop, Nop, Nop,   Z,   Z,   Z,   Z,   Z,   Z,   Z,   Z,
    ___, ___, ___, G,   ___, ___, ___, ___,   Iz,  Gz,  I,   Gi,  B,   Nop, B,   Nop, /* 60 */
    I,   I,   I,   I,   I,   I,   I,   I,     I,   I,   I,   I,   I,   I,   I,   I,
    Mbi, Mz,  ___, Mi,  Mb,  M,   EGb, EG,    Eb,  E,   Gb,  G,   M,   G,   M,   E,   /* 80 */
    ZA,  ZA,  ZA,  ZA,  ZA,  ZA,  ZA,  ZA,    A,   D,   ___, Nop, Nop, Nop, Nop, A,
    Abo, Ao,  Bo,  O,   B,   Nop, B,   Nop,   Bi,  Iz,  B,   Nop, Ab,  A,   B,   Nop, /* A0 */
    Zb,  Zb,  Zb,  Zb,  Zb,  Zb,  Zb,  Zb,    Zv,  Zv,  Zv,  Zv,  Zv,  Zv,  Zv,  Zv,
    Ebi, Ei,  Iw,  Nop, ___, ___, Mbi, Mz,    In,  Nop, Iw,  Nop, Nop, A_i, ___, Nop, /* C0 */
    Eb,  E,   Eb,  E,   ___, ___, ___, A,     M,   M,   M,   M,   M,   M,   M,   M,
    I,   I,   I,   I,   A_i, A_i, I,   I,     J,   J,   ___, I,   A,   A,   Nop, Nop, /* E0 */
    ___, Nop, ___, ___, Nop, Nop, Mb,  M,     Nop, Nop, Nop, Nop, Nop, Nop, Mb,  M
};

/* Behind 0F. Vector instructions say M: insn_extended.c knows which of them touch general registers. */
static const u16 two_byte[256] = {
    M,   M,   G,   G,   ___, A,   Nop, Nop,   Nop, Nop, ___, Nop, ___, M,   Nop, Mi,  /* 00 */
    M,   M,   M,   M,   M,   M,   M,   M,     M,   M,   M,   M,   M,   M,   M,   M,
    M,   M,   M,   M,   ___, ___, ___, ___,   M,   M,   M,   M,   M,   M,   M,   M,   /* 20 */
    Nop, AD,  AD,  AD,  Nop, Nop, ___, Nop,   ___, ___, ___, ___, ___, ___, ___, ___,
    G,   G,   G,   G,   G,   G,   G,   G,     G,   G,   G,   G,   G,   G,   G,   G,   /* 40 */
    M,   M,   M,   M,   M,   M,   M,   M,     M,   M,   M,   M,   M,   M,   M,   M,
    M,   M,   M,   M,   M,   M,   M,   M,     M,   M,   M,   M,   M,   M,   M,   M,   /* 60 */
    Mi,  Mi,  Mi,  Mi,  M,   M,   M,   Nop,   M,   M,   ___, ___, M,   M,   M,   M,
    J,   J,   J,   J,   J,   J,   J,   J,     J,   J,   J,   J,   J,   J,   J,   J,   /* 80 */
    Eb,  Eb,  Eb,  Eb,  Eb,  Eb,  Eb,  Eb,    Eb,  Eb,  Eb,  Eb,  Eb,  Eb,  Eb,  Eb,
    Nop, Nop, AD,  M,   Ei,  E,   M,   M,     Nop, Nop, Nop, M,   Ei,  E,   M,   G,   /* A0 */
    EAb, EA,  G,   M,   G,   G,   G,   G,     G,   M,   Mi,  M,   G,   G,   G,   G,
    EGb, EG,  Mi,  M,   Mi,  Gi,  Mi,  M,     Z,   Z,   Z,   Z,   Z,   Z,   Z,   Z,   /* C0 */
    M,   M,   M,   M,   M,   M,   M,   G,     M,   M,   M,   M,   M,   M,   M,   M,
    M,   M,   M,   M,   M,   M,   M,   M,     M,   M,   M,   M,   M,   M,   M,   M,   /* E0 */
    M,   M,   M,   M,   M,   M,   M,   M,     M,   M,   M,   M,   M,   M,   M,   M
};
/* clang-format on */

/* Which opcodes of 0F have an immediate in vector encodings, too. */
static u16 vector_form(const struct insn_code *c)
{
    u8 o = c->opcode;
    bool immediate = c->map == INSN_MAP_0F3A || c->map == INSN_MAP_XOP_8 ||
                     (c->map == INSN_MAP_0F && ((o >= 0x70 && o <= 0x73) || o == 0xc2 || (o >= 0xc4 && o <= 0xc6)));
    if (c->encoding == INSN_VEX && c->map == INSN_MAP_0F && o == 0x77)
        return Nop; /* vzeroupper, vzeroall */
    if (c->map == INSN_MAP_7 || c->map == INSN_MAP_XOP_10)
        return M | IMM_32;
    return immediate ? Mi : M;
}

u16 insn_form(const struct insn_code *c)
{
    if (c->encoding != INSN_LEGACY)
        return vector_form(c);
    switch (c->map) {
    case 0:
        return one_byte[c->opcode];
    case INSN_MAP_0F:
        /* extrq and insertq (SSE4a) with two bytes */
        return c->opcode == 0x78 && (c->prefix == INSN_66 || c->prefix == INSN_F2) ? M | IMM_16 : two_byte[c->opcode];
    case INSN_MAP_0F38:
        return M;
    }
    return Mi;
}
