/* Provides names for kernel addresses. The kernel generates /proc/kallsyms for each reader, 4 KiB per read, which takes
 * longer than the rest of a short recording. So the kernel is asked for single addresses (cache/kernel_asked.h). Where
 * it does not answer, the file is read, and an index in the cache directory replaces it as long as the machine is not
 * rebooted and has the same modules loaded.
 *
 * The index never returns a name that could be wrong: it omits symbols that change without notice (BPF programs,
 * trampolines), and it only covers addresses between two symbols of the same module. For all other addresses the text
 * is read, once.
 */
#pragma once
#include "proc/kallsyms.h"

struct cache;
struct kernel_names;

/* The kernel's files about symbols and modules; tests use other files. */
struct kernel_paths {
    const char *kallsyms, *boot_id;
    const char *modules;     /* list of modules; may be missing */
    const char *modules_dir; /* with a directory per module, whose inode number is never reused */
};

/* Opens the names of the running kernel. The cache (borrowed; may be NULL) is used by root only, because its index
 * reveals the addresses of kernel code, which the kernel hides from other users. Returns 0, or the error of
 * kallsyms_new. */
int kernel_names_open(struct kernel_names **out, struct cache *cache);
/* The same with other files, for any user, and nobody to ask. */
int kernel_names_new(struct kernel_names **out, const struct kernel_paths *paths, struct cache *cache);
void kernel_names_free(struct kernel_names **n);

/* Puts an index into the cache if there was no usable one. Separate from kernel_names_new, which may run on another
 * thread than the users of the cache. 0 (also: nothing to do) or -errno. */
int kernel_names_keep(struct kernel_names *n);
/* Addresses are hidden from this process: no name is found. */
bool kernel_names_hidden(const struct kernel_names *n);
/* The symbol that holds the address; its strings live as long as `n`. false: none near. */
bool kernel_names_find(struct kernel_names *n, u64 address, struct kallsym *out);
