/* Declarations shared by the parts of the decoder: an instruction split into its fields, before its meaning is
 * determined. insn.c splits it, insn_maps.c has the existing opcodes and the fields that follow them, insn_integer.c
 * decodes one-byte opcodes, insn_extended.c those after 0F, insn_vector.c vector instructions.
 */
#pragma once
#include "synth/insn.h"

enum insn_encoding { INSN_LEGACY, INSN_VEX, INSN_EVEX, INSN_XOP };

/* Opcode maps, numbered as in VEX, EVEX and XOP; 0 is that of the one-byte opcodes. */
#define INSN_UNKNOWN_BYTES UINT32_MAX /* of a store */

enum {
    INSN_MAP_0F = 1,
    INSN_MAP_0F38,
    INSN_MAP_0F3A,
    INSN_MAP_5 = 5,
    INSN_MAP_6,
    INSN_MAP_7,
    INSN_MAP_XOP_8,
    INSN_MAP_XOP_9,
    INSN_MAP_XOP_10,
    INSN_MAP_3DNOW = 15
};

/* The mandatory prefix, numbered as in VEX. */
enum insn_prefix { INSN_NP, INSN_66, INSN_F3, INSN_F2 };

struct insn_code {
    const u8 *bytes;
    u32 at, n; /* the next byte; how many there are */
    u8 encoding, map, opcode;
    u8 prefix;   /* enum insn_prefix */
    u8 repeat;   /* f2 or f3, the last one; 0: none */
    bool data16; /* a 66 prefix, even where it is the mandatory one or W overrules it */
    bool address4, lock, segment;
    bool rex;  /* there is one: byte registers 4 to 7 are spl to dil */
    bool wide; /* W */
    u8 vvvv;   /* the register there */
    u16 vector_bytes;
    u8 size;                /* bytes of an operation on general registers */
    u8 index_high, rm_high; /* 8: the prefix adds that bit to the register */
    u8 mod, reg, rm;        /* ModRM, with the prefixes' bits; 0 without it */
    bool sib;
    struct insn_operand mem; /* kind NONE: rm is a register */
    s64 immediate;
};

/* Properties of an opcode of the maps 0 and 0F that do not depend on its ModRM byte. */
enum {
    FORM_IMM = 7, /* enum insn_immediate */
    FORM_MODRM = 1 << 3,
    FORM_BYTE = 1 << 4, /* operates on bytes */
    FORM_NONE = 1 << 5, /* no instruction in 64-bit mode */
    /* Changed operands, in addition to those that follow from its operation: */
    FORM_W_RM = 1 << 6, /* a general register, or memory of its size */
    FORM_W_REG = 1 << 7,
    FORM_W_OPCODE = 1 << 8, /* the register in the opcode's low bits */
    FORM_W_AX = 1 << 9,
    FORM_W_DX = 1 << 10
};

enum insn_immediate {
    IMM_NONE,
    IMM_8,
    IMM_16,
    IMM_32,     /* displacement of a branch: data16 does not make it shorter (Intel) */
    IMM_OP,     /* 2 or 4 bytes, by operand size */
    IMM_OP_64,  /* 2, 4 or 8 */
    IMM_24,     /* enter's: 16 bits and 8 */
    IMM_ADDRESS /* 4 or 8, by address size */
};

/* Returns FORM_ bits, for any encoding. */
u16 insn_form(const struct insn_code *c);
/* Tells whether the opcode exists with this mandatory prefix and this kind of operand. Reserved values of vvvv, L, W, z
 * and b are not checked: they only make instructions invalid that change vector registers. */
bool insn_exists(const struct insn_code *c);
/* Tells whether a lock prefix is allowed: only for atomic changes of memory. */
bool insn_lockable(const struct insn_code *c, const struct insn *insn);

/* Complete the fields set by `form`. False: not an instruction. */
bool insn_integer(const struct insn_code *c, struct insn *out);
bool insn_extended(const struct insn_code *c, struct insn *out);
bool insn_vector(const struct insn_code *c, struct insn *out);

/* Returns the general register of a field: byte registers 4 to 7 without REX are the high bytes of 0 to 3. */
static inline u8 insn_register(const struct insn_code *c, u8 number)
{
    return c->size == 1 && !c->rex && c->encoding == INSN_LEGACY && number >= 4 && number < 8 ? number - 4 : number;
}

static inline void insn_writes(struct insn *out, u8 reg)
{
    out->writes |= (u16)(1u << (reg & 15));
}

static inline void insn_stores(struct insn *out, u32 bytes)
{
    out->stores = true;
    out->wide |= bytes > 8;
}

/* ModRM.rm is changed: a general register, or `bytes` of memory. */
static inline void insn_writes_rm(const struct insn_code *c, struct insn *out, u32 bytes)
{
    if (c->mem.kind == INSN_MEM)
        insn_stores(out, bytes);
    else
        insn_writes(out, insn_register(c, c->rm));
}

static inline bool insn_has_memory(const struct insn_code *c)
{
    return c->mem.kind == INSN_MEM;
}

static inline void insn_writes_memory(const struct insn_code *c, struct insn *out, u32 bytes)
{
    if (insn_has_memory(c))
        insn_stores(out, bytes);
}

/* The store is not at the address in `mem`: bit strings, vectors of addresses. */
static inline void insn_stores_elsewhere(struct insn *out)
{
    insn_stores(out, INSN_UNKNOWN_BYTES);
    out->mem = (struct insn_operand){.kind = INSN_NONE};
}
