/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `net`: bytes received from and sent to sockets, and the time of these calls.
 */
#include "bpf/kind.bpf.h"

#define XP_CALL_MINE(mode) (((mode)&XP_S_IFMT) == XP_S_IFSOCK)
#include "bpf/calls.bpf.h"
