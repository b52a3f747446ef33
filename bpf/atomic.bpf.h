/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Atomic instructions that return what was there (Linux 5.12). They are assembled by hand, because all else is compiled
 * for kernels that have none: BPF_STX | BPF_ATOMIC | BPF_DW with r1 and r2, and BPF_AND, BPF_OR, each with BPF_FETCH,
 * or BPF_XCHG as immediate.
 */
#pragma once

#define XP_ATOMIC(name, insn)                \
    XP_INLINE u64 name(void *at, u64 with)   \
    {                                        \
        u64 old;                             \
        asm volatile(                        \
            "r1 = %[at]\n\t"                 \
            "r2 = %[with]\n\t"               \
            ".quad " insn                    \
            "\n\t"                           \
            "%[old] = r2"                    \
            : [old] "=r"(old)                \
            : [at] "r"(at), [with] "r"(with) \
            : "r1", "r2", "memory");         \
        return old;                          \
    }
XP_ATOMIC(xp_atomic_and, "0x00000051000021db")
XP_ATOMIC(xp_atomic_or, "0x00000041000021db")
XP_ATOMIC(xp_atomic_swap, "0x000000e1000021db")
