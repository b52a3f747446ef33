/* The kernel's own symbols, from /proc/kallsyms: text only, modules and BPF programs included.
 *
 * Unprivileged readers (kptr_restrict) see every address as 0; then there is nothing to look up and `hidden` says why.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct kallsyms;

struct kallsym {
    const char *name;   /* lives as long as the table */
    const char *module; /* "" for the kernel itself */
    u64 start;
};

/* Reads `path` (a stream until its end). Lines that make no sense are skipped. 0, -ENODATA (no text symbol at all),
 * -ENOMEM, -errno. A table of hidden addresses is a table without symbols. */
int kallsyms_new(struct kallsyms **out, const char *path);
int kallsyms_new_from(struct kallsyms **out, FILE *f);
void kallsyms_free(struct kallsyms **k);

bool kallsyms_hidden(const struct kallsyms *k);
size_t kallsyms_count(const struct kallsyms *k);
/* The symbol that holds the address; false: none near. */
bool kallsyms_find(const struct kallsyms *k, u64 address, struct kallsym *out);
