/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Everything that depends on x86-64: the location of a sample's registers, the signal frame, the PLT, the vsyscall
 * page. Each further architecture gets a file like this one.
 */
#pragma once

#define XP_VSYSCALL     0xffffffffff600000ull
#define XP_VSYSCALL_END 0xffffffffff601000ull
#define XP_USER_END     (1ull << 56) /* of 57-bit address spaces */
#define XP_USER_CS64    0x33         /* __USER_CS (arch/x86/include/asm/segment.h) */

/* Places in struct pt_regs as u64[] (arch/x86/include/asm/ptrace.h): its layout is ABI, the C types of its fields are
 * not. Arguments of system calls are in rdi, rsi, rdx, r10, r8 and r9, and the number is in orig_rax. */
enum {
    XP_PT_R10 = 7,
    XP_PT_R8 = 9,
    XP_PT_RAX = 10,
    XP_PT_RCX = 11,
    XP_PT_RDX = 12,
    XP_PT_RSI = 13,
    XP_PT_RDI = 14,
    XP_PT_ORIG_RAX = 15,
    XP_PT_RIP = 16,
    XP_PT_CS = 17,
    XP_PT_RSP = 19,
    XP_PT_WORDS = 21
};

/* System calls that wait for a futex (arch/x86/entry/syscalls/syscall_64.tbl). */
enum { XP_SYS_FUTEX = 202, XP_SYS_RESTART = 219, XP_SYS_FUTEX_WAITV = 449, XP_SYS_FUTEX_WAIT = 455 };

/* DWARF register numbers (System V ABI, AMD64 supplement, figure 3.36). */
enum { XP_RBX = 3, XP_RBP = 6, XP_RSP = 7, XP_RIP = 16 };

XP_INLINE void xp_regs_from_pt(struct xp_regs *to, const u64 *pt)
{
    to->r[0] = pt[10];  /* rax */
    to->r[1] = pt[12];  /* rdx */
    to->r[2] = pt[11];  /* rcx */
    to->r[3] = pt[5];   /* rbx */
    to->r[4] = pt[13];  /* rsi */
    to->r[5] = pt[14];  /* rdi */
    to->r[6] = pt[4];   /* rbp */
    to->r[7] = pt[19];  /* rsp */
    to->r[8] = pt[9];   /* r8 */
    to->r[9] = pt[8];   /* r9 */
    to->r[10] = pt[7];  /* r10 */
    to->r[11] = pt[6];  /* r11 */
    to->r[12] = pt[3];  /* r12 */
    to->r[13] = pt[2];  /* r13 */
    to->r[14] = pt[1];  /* r14 */
    to->r[15] = pt[0];  /* r15 */
    to->r[16] = pt[16]; /* rip */
}

XP_INLINE int xp_is_user(u64 cs)
{
    return (cs & 3) == 3;
}

/* 64-bit code; 32-bit processes run under another selector. */
XP_INLINE int xp_is_native(const u64 *pt)
{
    return (pt[XP_PT_CS] & 0xffff) == XP_USER_CS64;
}

#ifdef __bpf__
/* Returns a word (XP_PT_*) of registers that the kernel saved at `regs`; 0: they are not there. */
XP_INLINE u64 xp_saved_word(u64 regs, u32 which)
{
    u64 value = 0;
    bpf_probe_read_kernel(&value, 8, (void *)(regs + 8ull * which));
    return value;
}

#define XP_FINDS_REGS bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)

/* Returns where the kernel saved the user registers of a task (a typed pointer) at its entry. Before Linux 5.15: at the
 * top of the kernel stack. */
XP_INLINE u64 xp_user_regs_of(struct task_struct *t)
{
    if (XP_FINDS_REGS)
        return (u64)bpf_task_pt_regs(t);
    return (u64)BPF_CORE_READ(t, stack) + 16384 - XP_PT_WORDS * 8; /* THREAD_SIZE - sizeof(struct pt_regs) */
}

/* The same of the current task. */
XP_INLINE u64 xp_user_regs(struct task_struct *t)
{
    if (XP_FINDS_REGS)
        return xp_user_regs_of((struct task_struct *)bpf_get_current_task_btf());
    return xp_user_regs_of(t);
}

/* A system call in progress: its number and first three arguments. */
struct xp_call {
    u64 arg[3], number, sp;
};

/* Reads the system call that a blocked thread is in, from where the kernel saved its user registers. Returns 0; 1: it
 * is in none (the kernel marks interrupts and exceptions by the number -1), or it is no 64-bit program. */
XP_INLINE int xp_call_of(struct xp_state *s, u64 pt, struct xp_call *to)
{
    u64 *r = s->node; /* rdx rsi rdi orig_rax rip cs eflags rsp */
    if (bpf_probe_read_kernel(r, 8 * 8, (void *)(pt + 8 * XP_PT_RDX)) || (r[5] & 0xffff) != XP_USER_CS64)
        return 1;
    to->arg[0] = r[2];
    to->arg[1] = r[1];
    to->arg[2] = r[0];
    to->number = r[3];
    to->sp = r[7];
    return to->number == ~0ull;
}

/* Returns the TLS base of the sampled thread. */
XP_INLINE u64 xp_tls_base(const struct xp_state *s)
{
    struct task_struct *t = (struct task_struct *)s->who.task;
    return BPF_CORE_READ(t, thread.fsbase);
}
#endif

/* Makes the interrupted frame the current frame. */
XP_INLINE void xp_start_at_regs(struct xp_state *s)
{
    s->ip = s->regs.r[XP_RIP];
    s->sp = s->regs.r[XP_RSP];
    s->bp = s->regs.r[XP_RBP];
    s->bx = s->regs.r[XP_RBX];
    s->leaf = XP_LEAF_REGS;
}

/* Continues in the frame that a signal interrupted. `uc` is the address of its ucontext; mcontext's general registers
 * start at +40: r8-r15 rdi rsi rbp rbx rdx rax rcx rsp rip (arch/x86/include/uapi/asm/sigcontext.h). */
XP_INLINE int xp_signal_step(struct xp_state *s, u64 uc)
{
    u64 *g = (u64 *)s->object;
    if (xp_read_stack(g, 17 * 8, uc + 40))
        return 1;
    s->regs.r[0] = g[13];
    s->regs.r[1] = g[12];
    s->regs.r[2] = g[14];
    s->regs.r[3] = g[11];
    s->regs.r[4] = g[9];
    s->regs.r[5] = g[8];
    s->regs.r[6] = g[10];
    s->regs.r[7] = g[15];
    XP_UNROLL
    for (int i = 0; i < 8; i++)
        s->regs.r[8 + i] = g[i];
    s->regs.r[16] = g[16];
    xp_start_at_regs(s);
    return 0;
}

/* Tells whether `ip` is the start of a signal trampoline without CFI (musl, Go): mov $15, %eax or %rax; syscall. */
XP_INLINE int xp_is_sigreturn(struct xp_state *s, u64 ip)
{
    u64 *code = (u64 *)s->object;
    code[1] = 0;
    if (xp_read_user(code, 9, ip))
        return 0;
    if (code[0] == 0x0f0000000fc0c748ull && (code[1] & 0xff) == 0x05) /* 48 c7 c0 0f 00 00 00 0f 05 */
        return 1;
    return (code[0] & 0xffffffffffffffull) == 0x050f0000000fb8ull; /* b8 0f 00 00 00 0f 05 */
}

/* Returns the high bits of those bytes of a word that are 0. */
XP_INLINE u64 xp_zero_bytes(u64 word)
{
    const u64 low = 0x7f7f7f7f7f7f7f7full;
    return ~(((word & low) + low) | word | low);
}

/* Tells whether the 8 bytes before a return address end with a call: e8 rel32, or ff /2 with 0 to 5 bytes after ModRM.
 * All places at once: the verifier would follow each way through a loop. */
XP_INLINE int xp_is_call(const u8 *code)
{
    const u64 each = 0x0101010101010101ull;
    u64 word;
    __builtin_memcpy(&word, code, 8);
    u64 opcode = xp_zero_bytes(~word), operand = xp_zero_bytes((word & 0x38 * each) ^ 0x10 * each);
    return (word >> 24 & 0xff) == 0xe8 || (opcode & operand >> 8 & ~0xffull);
}

/* Returns 1: ip follows a call; 0: it does not; -1: its page cannot be read. */
XP_INLINE int xp_follows_call(struct xp_state *s, u64 ip)
{
    if (xp_read_user(s->object, 8, ip - 8))
        return -1;
    return xp_is_call(s->object);
}

/* Returns how many bytes of the frame are below the return address if all that the code does from here on is to end the
 * frame: add rsp, N; ret. A nop may be before it (.NET). ~0: it does something else, or cannot be read. */
XP_INLINE u64 xp_frame_left(struct xp_state *s)
{
    const u8 *code = s->object;
    if (xp_read_user(s->object, 8, s->ip))
        return ~0ull;
    code += code[0] == 0x90;
    if (code[0] != 0x48 || code[1] != 0x83 || code[2] != 0xc4 || code[4] != 0xc3)
        return ~0ull;
    return code[3] & 0x87 ? ~0ull : code[3];
}

/* Returns rsp + 8 at the start of a PLT entry, rsp + 16 once the relocation index is pushed (the CFA expression of
 * linkers). */
XP_INLINE u64 xp_plt_cfa(const struct xp_state *s, s32 pushed_from)
{
    return s->sp + 8 + ((s32)(s->ip & 15) >= pushed_from ? 8 : 0);
}
