/* Makes an excerpt of the kernel's types, of what one eBPF object refers to. libbpf compares every type of an object
 * with each of the kernel's 130,000, after reading them a second time; with the excerpt that takes no time.
 */
#pragma once
#include "bpf/types.h"
#include <stddef.h>

struct btf;

/* A type whose number is asked for, too, as it is in the kernel: what programs are attached to has one. */
struct kernel_type {
    u32 kind, number; /* BTF_KIND_*; 0: there is none */
    const char *name;
};

/* Writes types in BTF as the kernel has them (/sys/kernel/btf/vmlinux, `all`) to a file: those that have the name of a
 * type in `object`, and what these contain; what they only point to becomes void. So numbers of types are others, and
 * bpf_core_type_id_kernel() must not be used. Sets the numbers of `n` types that are asked for. Returns 0; -EBADMSG;
 * -ENOMEM; or another -errno. */
int kernel_types_excerpt(const struct btf *object, const void *all, size_t len, int fd, struct kernel_type *asked,
                         size_t n);
/* The same of the running kernel's. */
int kernel_types_write(const struct btf *object, int fd, struct kernel_type *asked, size_t n);
