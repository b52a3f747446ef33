/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * An address of the kernel that is asked for, and what it is called: user space writes the first and runs the program.
 * Types as for xprof.h.
 */
#pragma once

#define XP_ADDRESS_TEXT 640 /* KSYM_SYMBOL_LEN: a name of 511 bytes, a module's of 55, and two numbers */

struct xp_address {
    u64 address;
    u32 len; /* with the NUL at the end; above the size: truncated */
    char text[XP_ADDRESS_TEXT];
};
