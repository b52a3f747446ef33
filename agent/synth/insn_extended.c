/* Opcodes behind 0F that are neither vector instructions nor simple enough for the tables: groups, system instructions,
 * bits in memory. insn_vector.c has the rest.
 */
#include "synth/insn_internal.h"

static bool plain(struct insn *out, enum insn_op op)
{
    out->op = (u8)op;
    return true;
}

/* ---- system instructions ---- */

/* 0F 00: sldt, str store the selector; lldt, ltr, verr, verw; F2: lkgs. */
static bool group_6(const struct insn_code *c, struct insn *out)
{
    u8 number = c->reg & 7;
    if (number < 2)
        insn_writes_rm(c, out, 2);
    return number < 6 || (number == 6 && c->prefix == INSN_F2);
}

/* 0F 01 with a register: each value of ModRM is an instruction of its own. Those that ask a hypervisor, an enclave or
 * the processor's owner may find any register changed. */
static bool group_7_register(const struct insn_code *c, struct insn *out)
{
    u8 modrm = (u8)(0xc0 | (c->reg & 7) << 3 | (c->rm & 7));
    switch (modrm) {
    case 0xc0: /* enclv */
    case 0xc1: /* vmcall */
    case 0xcc: /* tdcall, seamret, seamops, seamcall */
    case 0xcd:
    case 0xce:
    case 0xcf: /* encls */
    case 0xd4: /* vmfunc */
    case 0xd7: /* enclu */
    case 0xd8: /* vmrun */
    case 0xd9: /* vmmcall */
        out->writes = 0xffff;
        return true;
    case 0xc5: /* pconfig */
    case 0xc6: /* rdmsrlist, wrmsrlist */
    case 0xfe: /* invlpgb, rmpadjust, rmpupdate */
    case 0xff: /* tlbsync, psmash, pvalidate */
        out->writes |= 1u << INSN_RAX | 1u << INSN_RCX | 1u << INSN_RDX | 1u << INSN_RBX;
        return true;
    case 0xd0: /* xgetbv */
    case 0xee: /* rdpkru; F3: clui */
    case 0xfd: /* rdpru */
        out->writes |= 1u << INSN_RAX | 1u << INSN_RDX;
        return true;
    case 0xf9: /* rdtscp */
        out->writes |= 1u << INSN_RAX | 1u << INSN_RDX | 1u << INSN_RCX;
        return true;
    case 0xca: /* clac; F3: eretu, F2: erets */
        return plain(out, c->prefix == INSN_NP ? INSN_OTHER : INSN_TRAP);
    case 0xec: /* uiret */
        return plain(out, INSN_TRAP);
    case 0xfc: /* clzero: a cache line at rax */
        insn_stores(out, INSN_UNKNOWN_BYTES);
        return true;
    }
    if ((c->reg & 7) == 4) /* smsw */
        insn_writes(out, c->rm);
    return true;
}

/* 0F 01 with memory: sgdt, sidt, lgdt, lidt, smsw, rstorssp, lmsw, invlpg. */
static bool group_7(const struct insn_code *c, struct insn *out)
{
    if (!insn_has_memory(c))
        return group_7_register(c, out);
    u8 number = c->reg & 7;
    if (number < 2)
        insn_stores(out, 10);
    if (number == 4)
        insn_stores(out, 2);
    if (number == 5)
        insn_stores(out, 8);
    return true;
}

/* 0F AE: areas of state, fences, cache lines, fs and gs bases. */
static bool group_15(const struct insn_code *c, struct insn *out)
{
    u8 number = c->reg & 7;
    if (!insn_has_memory(c)) {
        if (c->prefix == INSN_F3 && number < 2) /* rdfsbase, rdgsbase */
            insn_writes(out, c->rm);
        if (c->prefix == INSN_NP && number >= 5)
            return plain(out, INSN_NOP);
    } else if (c->prefix == INSN_NP && (number == 0 || number == 4 || number == 6)) { /* fxsave, xsave, xsaveopt */
        insn_stores(out, INSN_UNKNOWN_BYTES);
    } else if (c->prefix == INSN_NP && number == 3) { /* stmxcsr */
        insn_stores(out, 4);
    } else if (c->prefix == INSN_F3 && number == 6) { /* clrssbsy */
        insn_stores(out, 8);
    }
    return true;
}

/* 0F C7: cmpxchg8b and 16b, xsavec, xsaves, vmptrst; with a register random numbers and the processor's. */
static bool group_9(const struct insn_code *c, struct insn *out)
{
    u8 number = c->reg & 7;
    if (!insn_has_memory(c)) {
        if (c->prefix != INSN_F3 || number == 7)
            insn_writes(out, c->rm);
        return number >= 6;
    }
    if (number == 1) {
        insn_stores(out, c->wide ? 16 : 8);
        out->writes |= 1u << INSN_RAX | 1u << INSN_RDX;
    }
    if (number == 4 || number == 5)
        insn_stores(out, INSN_UNKNOWN_BYTES);
    if (number == 7) /* vmptrst */
        insn_stores(out, 8);
    return true;
}

/* 0F 18 to 0F 1F: hints, but for bound registers (1A, 1B) and shadow stacks (1E). */
static bool hint(const struct insn_code *c, struct insn *out)
{
    if (c->opcode == 0x1b && c->prefix == INSN_66) /* bndmov */
        insn_writes_memory(c, out, 16);
    bool bounds = c->prefix == INSN_66 || c->prefix == INSN_F2 || insn_has_memory(c) ||
                  (c->prefix == INSN_F3 && c->opcode == 0x1a);
    if ((c->opcode == 0x1a || c->opcode == 0x1b) && bounds)
        return true;
    if (c->opcode == 0x1e && c->prefix == INSN_F3 && !insn_has_memory(c) && (c->reg & 7) == 1) {
        insn_writes(out, c->rm); /* rdssp */
        return true;
    }
    return plain(out, INSN_NOP);
}

/* VIA's hashes and ciphers: A6 and A7. */
static bool padlock(const struct insn_code *c, struct insn *out)
{
    out->writes |= 1u << INSN_RAX | 1u << INSN_RCX | 1u << INSN_RDX | 1u << INSN_RSI | 1u << INSN_RDI;
    insn_stores_elsewhere(out);
    return !insn_has_memory(c);
}

/* ---- integers behind 0F ---- */

/* bts, btr, btc: with the bit's number in a register, memory far from the operand may change. */
static bool bit_changed(const struct insn_code *c, struct insn *out)
{
    insn_writes_rm(c, out, c->size);
    if (c->opcode != 0xba && insn_has_memory(c))
        insn_stores_elsewhere(out);
    return true;
}

static bool bit_group(const struct insn_code *c, struct insn *out)
{
    u8 number = c->reg & 7;
    return number == 4 || (number > 4 && bit_changed(c, out));
}

static bool segment_stack(struct insn *out, const struct insn_code *c, enum insn_op op)
{
    if (op == INSN_PUSH)
        insn_stores(out, 8);
    if (c->data16 && !c->wide) {
        out->size = 2;
        insn_writes(out, INSN_RSP);
        return true;
    }
    out->size = 8;
    return plain(out, op);
}

/* syscall, sysenter: what the kernel answers comes in rax; rcx and r11 are clobbered, by sysenter the stack is lost. */
static bool system_call(const struct insn_code *c, struct insn *out)
{
    out->writes |= 1u << INSN_RAX | 1u << INSN_RCX | 1u << 11;
    if (c->opcode == 0x34)
        insn_writes(out, INSN_RSP);
    return true;
}

/* ---- the rest of the legacy maps ---- */

static bool legacy_0f38(const struct insn_code *c, struct insn *out)
{
    switch (c->opcode) {
    case 0xf0: /* movbe; F2: crc32 */
        insn_writes(out, c->reg);
        break;
    case 0xf1:
        if (c->prefix == INSN_F2)
            insn_writes(out, c->reg);
        else
            insn_writes_memory(c, out, c->size);
        break;
    case 0xf5: /* wruss */
    case 0xf9: /* movdiri */
        insn_writes_memory(c, out, c->wide ? 8 : 4);
        break;
    case 0xf6: /* adcx, adox; NP: wrss */
        if (c->prefix == INSN_NP)
            insn_writes_memory(c, out, c->wide ? 8 : 4);
        else
            insn_writes(out, c->reg);
        break;
    case 0xf8: /* movdir64b, enqcmd: to where a register points; urdmsr, and uwrmsr, which changes none */
        if (insn_has_memory(c))
            insn_stores_elsewhere(out);
        else if (c->prefix == INSN_F2)
            insn_writes(out, c->rm);
        break;
    case 0xfa: /* encodekey */
    case 0xfb:
        insn_writes(out, c->reg);
        break;
    case 0xfc: /* aadd, aand, aor, axor */
        insn_writes_memory(c, out, c->wide ? 8 : 4);
        break;
    }
    return true;
}

static bool legacy_0f_low(const struct insn_code *c, struct insn *out)
{
    switch (c->opcode) {
    case 0x00:
        return group_6(c, out);
    case 0x01:
        return group_7(c, out);
    case 0x05:
    case 0x34:
        return system_call(c, out);
    case 0x07: /* sysret, ud2, sysexit */
    case 0x0b:
    case 0x35:
        return plain(out, INSN_TRAP);
    case 0x0d:
        return plain(out, INSN_NOP);
    case 0x18 ... 0x1f:
        return hint(c, out);
    case 0x20: /* from control and debug registers: all 8 bytes */
    case 0x21:
        insn_writes(out, c->rm);
        return true;
    case 0x37: /* getsec */
        out->writes = 0xffff;
        return true;
    case 0x78: /* vmread */
        if (c->prefix == INSN_NP)
            insn_writes_rm(c, out, 8);
        return true;
    }
    return insn_vector(c, out);
}

static bool legacy_0f_high(const struct insn_code *c, struct insn *out)
{
    switch (c->opcode) {
    case 0x80 ... 0x8f:
        out->size = 8;
        out->a = (struct insn_operand){.kind = INSN_IMM, .value = c->immediate};
        return plain(out, INSN_JCC);
    case 0x90 ... 0x9f: /* setcc */
        return true;
    case 0xa0:
    case 0xa8:
        return segment_stack(out, c, INSN_PUSH);
    case 0xa1:
    case 0xa9:
        return segment_stack(out, c, INSN_POP);
    case 0xa2: /* cpuid */
        out->writes |= 1u << INSN_RCX | 1u << INSN_RBX;
        return true;
    case 0xa6:
    case 0xa7:
        return padlock(c, out);
    case 0xab:
    case 0xb3:
    case 0xbb:
        return bit_changed(c, out);
    case 0xba:
        return bit_group(c, out);
    case 0xaa: /* rsm, ud1, ud0 */
    case 0xb9:
    case 0xff:
        return plain(out, INSN_TRAP);
    case 0xae:
        return group_15(c, out);
    case 0xc7:
        return group_9(c, out);
    }
    return insn_vector(c, out);
}

bool insn_extended(const struct insn_code *c, struct insn *out)
{
    if (c->encoding != INSN_LEGACY)
        return insn_vector(c, out);
    switch (c->map) {
    case INSN_MAP_0F:
        return c->opcode < 0x80 ? legacy_0f_low(c, out) : legacy_0f_high(c, out);
    case INSN_MAP_0F38:
        return legacy_0f38(c, out);
    case INSN_MAP_0F3A:
        return insn_vector(c, out);
    }
    return true;
}
