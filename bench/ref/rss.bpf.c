/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The least that a program costs where the kernel counts resident memory.
 */
char LICENSE[] __attribute__((section("license"), used)) = "Dual BSD/GPL";

__attribute__((section("tp_btf/rss_stat"), used)) int nothing(void *ctx)
{
    return 0;
}
