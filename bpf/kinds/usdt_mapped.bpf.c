/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `usdt` of USDT probes that are meant by the name of a file. User space attaches the programs in each wanted
 * process that maps a file of that name (agent/pipeline/heaps.c), which this tells it. Where the arguments are at the
 * sites of a file is told when a process has mapped it (probe_usdt_sites).
 */
#define XP_MAPPED
#include "bpf/kinds/usdt.bpf.c"
