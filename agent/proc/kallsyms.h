/* Looks up kernel symbols in /proc/kallsyms: text only, including modules and BPF programs.
 *
 * Unprivileged readers (kptr_restrict) see every address as 0; then there is nothing to look up and `hidden` says why.
 */
#pragma once
#include "base/buf.h"
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
/* The same, only where the next symbol is of the same module, or also of the kernel itself: what came into being since
 * the table was made cannot lie there. */
bool kallsyms_find_inside(const struct kallsyms *k, u64 address, struct kallsym *out);

/* Appends an image of the table without BPF programs and trampolines. 0, -ENODATA (nothing else is in it) or -ENOMEM.
 */
int kallsyms_encode(const struct kallsyms *k, struct buf *out);
/* A table that reads such an image, which is aligned to 8 bytes and outlives it. 0, -EBADMSG or -ENOMEM. */
int kallsyms_new_view(struct kallsyms **out, const void *image, size_t len);
