/* One x86-64 instruction, as far as a stack's layout depends on it: its length, where control goes, what moves between
 * registers and stack slots, and which registers it leaves changed. Everything else is INSN_OTHER with that mask.
 *
 * Source: Intel SDM volume 2 (opcode maps, appendix A; encodings of VEX and EVEX in chapter 2), AMD APM volume 3 for
 * XOP, 3DNow! and what long mode makes invalid.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define INSN_MAX_BYTES 15

/* General registers have their hardware numbers, which are not DWARF's. */
enum insn_reg {
    INSN_RAX,
    INSN_RCX,
    INSN_RDX,
    INSN_RBX,
    INSN_RSP,
    INSN_RBP,
    INSN_RSI,
    INSN_RDI,
    INSN_RIP = 16, /* as base of a memory operand only; `disp` then counts from the next instruction */
    INSN_NO_REG = 0xff
};

enum insn_op {
    INSN_OTHER, /* nothing but `writes` and `stores` is of interest */
    INSN_NOP,   /* of any length; endbr64, prefetches, fences: they change nothing */
    INSN_TRAP,  /* does not go on: int3, hlt, ud0-2, iret, sysret, sysexit */
    INSN_PUSH,  /* of 8 bytes: a = what; NONE for flags or segment registers. (One of 2 bytes: OTHER, writes rsp) */
    INSN_POP,   /* of 8 bytes: a = where to */
    INSN_LEAVE,
    INSN_RET,  /* a = IMM when it pops arguments, too */
    INSN_CALL, /* a = IMM: target, as `a.value` added to the end of the instruction; else REG or MEM */
    INSN_JMP,  /* same */
    INSN_JCC,  /* conditional, jrcxz and loops included (those write rcx, jrcxz does not): a = IMM */
    INSN_MOV,  /* a = b, of `size` bytes; 4-byte writes to a register clear the rest. No segment or control registers */
    INSN_MOVSXD, /* 4 bytes at b, sign-extended to 8: a = REG */
    INSN_LEA,    /* a = address of b */
    INSN_ADD,
    INSN_SUB,
    INSN_AND,  /* a op= b */
    INSN_XCHG, /* a <-> b */
    INSN_INC,
    INSN_DEC
};

enum insn_kind { INSN_NONE, INSN_REG, INSN_MEM, INSN_IMM };

struct insn_operand {
    u8 kind;        /* enum insn_kind */
    u8 reg;         /* REG: the 64-bit register that it is (a part of); legacy high bytes (ah..bh) are theirs, too */
    u8 base, index; /* MEM: or INSN_NO_REG */
    u8 scale;       /* 1, 2, 4, 8 */
    bool segment;   /* relative to fs or gs */
    s32 disp;
    s64 value; /* IMM: sign-extended to 64 bits as the processor does; of a MOV of 4 bytes zero-extended, as it does,
                  too */
};

struct insn {
    u8 len;
    u8 op;           /* enum insn_op */
    u8 size;         /* bytes of the operation: 1, 2, 4, 8 */
    u8 address_size; /* 8, or 4 with a 67 prefix */
    bool stores; /* writes memory through `mem`, or through registers that `mem` does not name (stos, movs, pushes) */
    bool wide;   /* such a store is of more than 8 bytes, or of a number of bytes that is not known */
    u16 writes;  /* bit r: general register r (or a part of it) changed, implicitly changed ones included; not rsp
                    by push, pop, call, ret, leave: their op says that */
    struct insn_operand a, b; /* for all but INSN_OTHER */
    /* The memory operand if there is one, whatever the op. Kind NONE without, and where the address is not base + index
     * * scale + disp: string operations, addresses of 8 bytes in the instruction (OTHER, those), vectors of addresses,
     * bits of memory with a number in a register, loads of EVEX with a displacement of one byte (its unit is not
     * known). */
    struct insn_operand mem;
};

/* Decodes the instruction at the front of `n` bytes, in 64-bit mode. Its length, or 0: not an instruction, or it is cut
 * by the end. `out` is written only when there is one. Reads no byte behind the instruction's last. */
size_t insn_decode(const u8 *bytes, size_t n, struct insn *out);
