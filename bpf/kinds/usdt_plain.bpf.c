/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `usdt` for Linux before 5.15 (bpf/kind.bpf.h).
 */
#define XP_PLAIN
#include "bpf/kinds/usdt.bpf.c"
