/* Where the types of this kernel are.
 */
#pragma once
#include <bpf/libbpf.h>

/* How all objects of ours are opened. libbpf looks into the type information of all modules for types that the kernel
 * itself lacks (those of other versions), and fails where it may not: with CAP_BPF, but without CAP_SYS_ADMIN, as in a
 * pod. It does not when a file with the kernel's types is named. */
const struct bpf_object_open_opts *object_options(void);
