/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The contract of the latency of disks (bpf/kinds/disk.bpf.c): a histogram of all requests of a device, by what they
 * did, whoever made them. Include bpf/xprof.h first.
 */
#pragma once

#define XP_DISK_SERIES  256      /* pairs of device and operation */
#define XP_DISK_BUCKETS 21       /* one more holds what is longer than all of them */
#define XP_DISK_LEAST   16000ull /* ns: the bound of the first bucket; each of the others is twice the one before */
#define XP_DISK_NAME    24       /* bytes of a device's name, NUL-terminated */

enum xp_disk_op { XP_DISK_OP_READ, XP_DISK_OP_WRITE, XP_DISK_OP_DISCARD, XP_DISK_OP_FLUSH, XP_DISK_OPS };

struct xp_disk_key {
    char device[XP_DISK_NAME];
    u64 op; /* enum xp_disk_op */
};
struct xp_disk_latency {
    u64 ns, requests;
    u64 bucket[XP_DISK_BUCKETS + 1]; /* requests that took up to its bound, and longer than that of the one before */
};
