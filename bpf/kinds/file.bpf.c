/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `file`: bytes read from and written to files and pipes, and the time of all calls on them.
 */
#include "bpf/kind.bpf.h"

#define XP_CALL_MINE(mode) (((mode)&XP_S_IFMT) != XP_S_IFSOCK)
#include "bpf/calls.bpf.h"
