/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Names of slab caches, as the first words of stacks of kind `kmem`.
 */
#pragma once

#define XP_GFP_ACCOUNT  0x400000u /* include/linux/gfp_types.h */
#define XP_KMALLOC_MOST 8192      /* larger ones are pages (mm/slab.h: KMALLOC_MAX_CACHE_SIZE) */
#define XP_SEVEN        (~0ull >> 8)

/* A number of up to five digits as text, the first digit the lowest byte. */
XP_INLINE u64 xp_kmem_digits(u32 n)
{
    u64 text = 0;
    XP_UNROLL
    for (u32 i = 0; i < 5; i++) {
        if (n || !i)
            text = text << 8 | ('0' + n % 10);
        n /= 10;
    }
    return text;
}

/* kmalloc-96, kmalloc-1k, kmalloc-cg-1k: as the kernel calls them, which does not say which it took before Linux 6.13.
 */
XP_INLINE u64 xp_kmem_suffix(u64 size, u64 gfp)
{
    u64 text = size > XP_KMALLOC_MOST ? XP_TEXT('l', 'a', 'r', 'g', 'e', 0, 0)
               : size >= 1024         ? ('0' + (size >> 10)) | 'k' << 8
                                      : xp_kmem_digits(size);
    int apart = bpf_core_enum_value_exists(enum kmalloc_cache_type, KMALLOC_CGROUP) &&
                bpf_core_enum_value(enum kmalloc_cache_type, KMALLOC_CGROUP) !=
                    bpf_core_enum_value(enum kmalloc_cache_type, KMALLOC_NORMAL);
    return apart && gfp & XP_GFP_ACCOUNT && size <= XP_KMALLOC_MOST ? text << 24 | XP_TEXT('c', 'g', '-', 0, 0, 0, 0)
                                                                    : text;
}

enum { XP_KMEM_KMALLOC, XP_KMEM_OBJECT, XP_KMEM_PAGES };

/* Begins a stack with the name. Out of line, for its part of the stack. */
XP_NOINLINE int xp_kmem_name(u64 name, u64 size, u64 gfp, u32 what)
{
    struct xp_state *s = xp_state_get();
    u64 text[3] = {0};
    if (!s)
        return 1;
    if (name) {
        bpf_probe_read_kernel_str(text, 7 * XP_NAME_WORDS + 1, (void *)name);
    } else if (what == XP_KMEM_PAGES) {
        text[0] = XP_TEXT('p', 'a', 'g', 'e', 's', 0, 0);
    } else if (what == XP_KMEM_KMALLOC) {
        text[0] = XP_TEXT('k', 'm', 'a', 'l', 'l', 'o', 'c') | (u64)'-' << 56;
        text[1] = xp_kmem_suffix(size, gfp);
    } else { /* before Linux 6.0, only the size is told */
        text[0] = XP_TEXT('o', 'b', 'j', 'e', 'c', 't', 's') | (u64)'-' << 56;
        text[1] = xp_kmem_digits(size);
    }
    s->words[0] = XP_LABEL(XP_LABEL_NAME, text[0] & XP_SEVEN);
    s->words[1] = XP_LABEL_MORE | ((text[0] >> 56 | text[1] << 8) & XP_SEVEN);
    s->words[2] = XP_LABEL_MORE | ((text[1] >> 48 | text[2] << 16) & XP_SEVEN);
    return 0;
}
