/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The part of the contract (bpf/xprof.h, which includes it) that says how frames are unwound: rules, and the image of a
 * table of rows.
 */
#pragma once

/* ---- Rules -------------------------------------------------------------------------------------------------------
 * A rule tells how to get from a frame to its caller, in 8 bytes. The machine has one dictionary of rules. `kind`
 * contains the computation of the CFA in the low 5 bits, the location of the caller's RBP in the next 2, and
 * XP_RULE_SYNTH. RA is at CFA - 8 unless the kind defines another location. RBX is tracked because the lazy resolver of
 * ld.so bases its CFA on it.
 */
enum xp_cfa {
    XP_CFA_NONE = 0,  /* no unwind information: use the frame pointer, if XP_TABLE_FP_OK is set */
    XP_CFA_RSP,       /* CFA = rsp + cfa_off */
    XP_CFA_RBP,       /* CFA = rbp + cfa_off */
    XP_CFA_RBX,       /* CFA = rbx + cfa_off */
    XP_CFA_DEREF_RBP, /* CFA = *(rbp + lo16(cfa_off)) + hi16(cfa_off) */
    XP_CFA_DEREF_RSP, /* CFA = *(rsp + lo16(cfa_off)) + hi16(cfa_off) */
    XP_CFA_PLT,       /* CFA = rsp + 8 + ((rip & 15) >= cfa_off ? 8 : 0) */
    XP_CFA_SIGNAL,    /* rsp + cfa_off is the ucontext of an interrupted frame */
    XP_CFA_REG,       /* CFA = register hi8(cfa_off) (DWARF number) + lo24(cfa_off): known in the leaf only */
    XP_CFA_RA_REG,    /* leaf only: return address in register rbp_off (vfork: rdi); rsp += cfa_off */
    XP_CFA_END,       /* return address undefined: the outermost frame */
    XP_CFA_RSP_EXACT, /* as RSP, but the caller was interrupted: its pc is exact (Go's injected calls) */
    XP_CFA_RBP_HOP,   /* as RBP; the CFA may be on another stack */
    XP_CFA_GO_G,      /* on a stack of Go's scheduler: continue with the goroutine (go.bpf.h) */
    XP_CFA_GO_CALL,   /* in C on Go's scheduler stack, up to Go 1.20: CFA from asmcgocall's frame (go.bpf.h) */
    XP_CFA_GO_LOST,   /* as GO_G, but the layout of this Go runtime is unknown: stop with a cause */
    XP_CFA_RSP_DEREF, /* CFA = rsp + *(rsp + lo16(cfa_off)) + hi16(cfa_off): the frame contains its size */
    XP_CFA_INDEXED,   /* CFA = *(rsp + 8 * register hi8 + lo16) + byte 2 of cfa_off (OpenSSL): known in the leaf only */
    XP_CFA_UNPROVEN,  /* as NONE, but the code was analysed without result */
    XP_CFA_RSP_LOOP,  /* as RSP, in the loop of an interpreter: its script's frames take its place (python.bpf.h) */
    XP_CFA_RBP_LOOP,  /* as RBP, the same */
    XP_CFA_UNSUPPORTED, /* not supported yet: stop with a cause */
    XP_CFA_COUNT
};
enum xp_rbp {
    XP_RBP_SAME = 0, /* unchanged */
    XP_RBP_CFA = 1,  /* saved at CFA + rbp_off */
    XP_RBP_RBP = 2,  /* saved at rbp + rbp_off, rbp before the step (DRAP prologues) */
    XP_RBP_RSP = 2,  /* in synthesised rules: saved at rsp + rbp_off */
    XP_RBP_LOST = 3, /* undefined or not supported: XP_RBP_UNKNOWN from here on up */
};
#define XP_RULE_CFA(k)                ((k)&31u)
#define XP_RULE_RBP(k)                ((k) >> 5 & 3u)
#define XP_RULE_SYNTH                 0x80u /* in `kind`: synthesised from the instructions (agent/synth) */
#define XP_RULE_KIND(c, b)            ((u8)((c) | (b) << 5))
#define XP_REG_RULE(reg, off)         ((s32)((u32)(reg) << 24 | ((u32)(off)&0xffffff)))
#define XP_REG_NUMBER(cfa_off)        ((u32)(cfa_off) >> 24)
#define XP_REG_OFFSET(cfa_off)        ((s32)((u32)(cfa_off) << 8) >> 8)
#define XP_INDEX_RULE(reg, off, plus) ((s32)((u32)(reg) << 24 | (u32)(plus) << 16 | (u16)(off)))
#define XP_RBX_SAME                   0 /* else saved at CFA - 8 * rbx */
#define XP_RBX_LOST                   255
/* Synthesised rules have one bit less for RBX: */
#define XP_RBX_INFERRED   0x80u /* in `rbx`: derived backwards from the end of the code, not from its start */
#define XP_SYNTH_RBX(rbx) ((rbx)&0x7fu)
#define XP_SYNTH_RBX_LOST 127

/* XP_CFA_GO_G: cfa_off = offset of the thread's g from its TLS base, rbp_off = offset of m.curg in m, rbx = offset of
 * sched.bp in g; the flags below replace xp_rbp. The other offsets are the same from Go 1.18 to 1.26. */
#define XP_GO_POP      1u /* the goroutine left by a call: its pc is on top of its stack */
#define XP_GO_SLOT     2u /* the offset is in memory (a GOT slot) at cfa_off from file offset 0 */
#define XP_GO_G_M      48 /* offsets of g.m, g.sched.sp, g.sched.pc in g */
#define XP_GO_SCHED_SP 56
#define XP_GO_SCHED_PC 64

struct xp_rule {
    s32 cfa_off;
    s16 rbp_off;
    u8 kind;
    u8 rbx;
};
_Static_assert(sizeof(struct xp_rule) == 8, "a pc cache entry is a tag and a rule in 16 bytes");

/* ---- Table image --------------------------------------------------------------------------------------------------
 * The parser creates a table image per file, the disk cache stores it, and probe/shards.c loads it: header, index,
 * rows, rules. All keys are file offsets instead of addresses, so they are independent of ASLR and prelinking.
 *
 *   index[b] (u32, nblocks + 1 entries) = number of the first row with offset >= lo + b * XP_BLOCK
 *   rows[i]  (u32)                      = (offset & (XP_BLOCK - 1)) | rule << 16, where rule is an index into rules[]
 *
 * A row applies up to the next one. Row 0 is a sentinel "no unwind information" before lo; index[0] == 1. No rule
 * applies after hi: the last row is XP_CFA_NONE. The blocks reach up to the end of the last executable segment.
 */
#define XP_BLOCK_SHIFT 10 /* 1 KiB of text per block: at most 1024 rows to search, index 0.4 % of the text */
#define XP_BLOCK       (1u << XP_BLOCK_SHIFT)
#define XP_TABLE_MAGIC 0x31545058u /* "XPT1" */
#define XP_TABLE_FP_OK 1u          /* the frame pointer is used in gaps (XP_CFA_NONE): no FDE at all, or known code */
#define XP_TABLE_V8    8u          /* the gaps have builtins of V8 (bpf/v8.bpf.h) */
/* Which language the file's loops of an interpreter are of: enum xp_language. */
#define XP_TABLE_LANGUAGE(flags)     ((flags) >> 4 & 7u)
#define XP_TABLE_OF_LANGUAGE(number) ((number) << 4)

/* Sources of rows: X(enum name, slug). */
#define XP_SOURCES(X)             \
    X(EH_FRAME, "eh_frame")       \
    X(DEBUG_FRAME, "debug_frame") \
    X(KNOWN, "known-code")        \
    X(GO, "gopclntab")            \
    X(SYNTH, "synthesised")
enum xp_source {
#define XP_SOURCE_ENUM(name, slug) XP_SOURCE_##name,
    XP_SOURCES(XP_SOURCE_ENUM)
#undef XP_SOURCE_ENUM
        XP_SOURCE_COUNT
};

struct xp_table {
    u32 magic;
    u32 version;  /* XP_TABLE_VERSION of the writer; tables of other versions are rebuilt */
    u32 flags;    /* XP_TABLE_* */
    u32 nblocks;  /* 0: the file has no unwind information */
    u32 nrows;    /* sentinel included */
    u32 nrules;   /* <= 65,535 */
    u64 lo;       /* first file offset of block 0, a multiple of XP_BLOCK */
    u64 checksum; /* hash_bytes of all that follows the header */
    u32 bad_fdes; /* FDEs, or functions of GO, that were malformed: their range is XP_CFA_UNSUPPORTED */
    u32 fdes;
    u32 source_rows[XP_SOURCE_COUNT]; /* number of rows per source; gaps and the sentinel have none */
    u8 build_id[20];                  /* GNU build ID, or the SHA-1-sized content key of a file without one */
    u8 build_id_len;                  /* 0..20 */
    u8 pad[7];
};
_Static_assert(sizeof(struct xp_table) == 96, "the disk format");
#define XP_TABLE_VERSION 12
