/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Says the kernel's own name of an address in it, as the kernel's messages do (%pS, printk-formats): what is asked for
 * is looked up there, and nothing else is formatted.
 */
#include "bpf/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "bpf/address.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct xp_address xp_address;

SEC("raw_tp")
int xp_name_address(void *ctx)
{
    static const char format[] = "%pS";
    u64 address = xp_address.address;
    xp_address.len = (u32)bpf_snprintf(xp_address.text, sizeof(xp_address.text), format, &address, sizeof(address));
    return 0;
}
