/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Arguments of USDT probes. A note in the program says where each one is at each site of a probe (agent/elf/usdt.h): a
 * register, a constant, or memory. All of these are
 *
 *     number + base + (index << scale)
 *
 * with registers or none, and for memory what is at that address. Include bpf/types.h first.
 */
#pragma once

#define XP_USDT_ARGUMENTS 12   /* of a probe */
#define XP_USDT_NONE      0xff /* no register */
#define XP_USDT_MAPPED    4096 /* sites in all files that are followed, of a probe that means them by their name */

enum { XP_USDT_KNOWN = 1, XP_USDT_SIGNED = 2, XP_USDT_MEMORY = 4 };

struct xp_usdt_argument {
    u64 number;
    u8 base, index; /* registers: words of struct pt_regs */
    u8 scale;       /* up to 3 */
    u8 size;        /* bytes: 1, 2, 4 or 8 */
    u8 flags;       /* XP_USDT_KNOWN etc. */
    u8 pad[3];
};
struct xp_usdt_site {
    struct xp_usdt_argument arguments[XP_USDT_ARGUMENTS];
};
