/* Looks up kernel symbols in /proc/kallsyms: text only, including modules and BPF programs.
 *
 * Unprivileged readers (kptr_restrict) see every address as 0; the table is then empty and kallsyms_hidden returns
 * true.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct kallsyms;

struct kallsym {
    const char *name;   /* valid as long as the table */
    const char *module; /* "" for the kernel itself */
    u64 start;
};

/* Read `path`, or a stream to its end. Malformed lines are skipped. Return 0; -ENODATA: there is no text symbol;
 * -ENOMEM; or another -errno. If addresses are hidden, the table has no symbols. */
int kallsyms_new(struct kallsyms **out, const char *path);
int kallsyms_new_from(struct kallsyms **out, FILE *f);
void kallsyms_free(struct kallsyms **k);

bool kallsyms_hidden(const struct kallsyms *k);
size_t kallsyms_count(const struct kallsyms *k);
/* Finds the symbol that contains the address; false: there is none nearby. */
bool kallsyms_find(const struct kallsyms *k, u64 address, struct kallsym *out);
/* The same, but only if the next symbol belongs to the same module, or both to the kernel itself: code added since the
 * table was built cannot be in between. */
bool kallsyms_find_inside(const struct kallsyms *k, u64 address, struct kallsym *out);

/* Appends an image of the table without BPF programs and trampolines. Returns 0; -ENODATA: there are no other symbols;
 * -ENOMEM.
 */
int kallsyms_encode(const struct kallsyms *k, struct buf *out);
/* Creates a table from such an image, which must be aligned to 8 bytes and outlive the table. Returns 0, -EBADMSG or
 * -ENOMEM. */
int kallsyms_new_view(struct kallsyms **out, const void *image, size_t len);
