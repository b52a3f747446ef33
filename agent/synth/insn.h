/* Decodes an x86-64 instruction, as far as it affects the layout of the stack: its length, the flow of control, moves
 * between registers and stack slots, and the registers that it changes. Everything else is INSN_OTHER with the mask of
 * changed registers.
 *
 * Source: Intel SDM volume 2 (opcode maps, appendix A; encodings of VEX and EVEX in chapter 2), AMD APM volume 3 for
 * XOP, 3DNow! and instructions that are invalid in long mode.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define INSN_MAX_BYTES 15

/* General registers have their hardware numbers, which differ from those of DWARF. */
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
    INSN_OTHER, /* only `writes` and `stores` are relevant */
    INSN_NOP,   /* of any length; endbr64, prefetches, fences: they change nothing */
    INSN_TRAP,  /* control does not continue: int3, hlt, ud0-2, iret, sysret, sysexit */
    INSN_PUSH,  /* of 8 bytes: a = source; NONE for flags or segment registers (of 2 bytes: OTHER, writes rsp) */
    INSN_POP,   /* of 8 bytes: a = destination */
    INSN_LEAVE,
    INSN_RET,  /* a = IMM if it also pops arguments */
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
    u8 reg;         /* REG: the 64-bit register that contains it, also for high bytes (ah..bh) */
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
    bool wide;   /* such a store has more than 8 bytes, or an unknown number of bytes */
    u16 writes;  /* bit r: general register r (or a part of it) changed, implicitly changed ones included; not rsp
                    by push, pop, call, ret, leave: their op says that */
    struct insn_operand a, b; /* for all but INSN_OTHER */
    /* The memory operand, for any op. Kind NONE if there is none, or if its address is not base + index * scale + disp:
     * string operations, 8-byte addresses in the instruction (op OTHER), vectors of addresses, memory bits with a
     * number in a register, loads of EVEX with a one-byte displacement (its unit is unknown). */
    struct insn_operand mem;
};

/* Decodes the instruction at the start of `n` bytes, in 64-bit mode. Returns its length, or 0: not an instruction, or
 * truncated. `out` is written only on success. Reads no byte after the last one of the instruction. */
size_t insn_decode(const u8 *bytes, size_t n, struct insn *out);
