/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `function` of functions that are meant by the name of a file. User space attaches the programs in each wanted
 * process that maps a file of that name (agent/pipeline/heaps.c), which this tells it.
 */
#define XP_MAPPED
#include "bpf/kinds/function.bpf.c"
