/* Names of addresses in the kernel. The kernel makes /proc/kallsyms anew for each reader, 4 KiB a read, which takes
 * longer than all else that a short recording does. An index in the cache directory stands for it as long as the
 * machine runs and has the same modules loaded.
 *
 * The index never answers where it could be wrong: it leaves out what comes and goes unseen (BPF programs,
 * trampolines), and it only knows addresses between two symbols of the same module. For the rest the text is read,
 * once.
 */
#pragma once
#include "proc/kallsyms.h"

struct cache;
struct kernel_names;

/* Where the kernel says what it consists of; tests have other files. */
struct kernel_paths {
    const char *kallsyms, *boot_id;
    const char *modules;     /* list of modules; it need not exist */
    const char *modules_dir; /* with a folder for each of them, whose inode number is never used again */
};

/* Of the running kernel. The cache (borrowed; may be NULL) is used only by root: its index says where the kernel's code
 * lies, which the kernel keeps from others. 0, or what kallsyms_new returns. */
int kernel_names_open(struct kernel_names **out, struct cache *cache);
/* The same with other files, by anybody. */
int kernel_names_new(struct kernel_names **out, const struct kernel_paths *paths, struct cache *cache);
void kernel_names_free(struct kernel_names **n);

/* Puts an index into the cache if there was none that could be used. Apart from kernel_names_new because that may run
 * on another thread than those which use the cache. 0 (also: nothing to do) or -errno. */
int kernel_names_keep(struct kernel_names *n);
/* Addresses are hidden from this process: no name is found. */
bool kernel_names_hidden(const struct kernel_names *n);
/* The symbol that holds the address; its strings live as long as `n`. false: none near. */
bool kernel_names_find(struct kernel_names *n, u64 address, struct kallsym *out);
