/* Finds the loop of an interpreter that no symbol names, by what it has: a table of where each instruction of the
 * interpreter is carried out. Its entries are either labels inside one function ("computed goto"), or the starts of
 * functions that call each other in their last place ("tail calls"). Where functions are, .eh_frame_hdr says (LSB 5,
 * 10.6.2).
 */
#pragma once
#include "elf/elf.h"

/* The function with the longest table of at least `least` labels: file offsets. False: there is none. */
bool labels_function(const struct elf_file *e, size_t least, u64 *start, u64 *end);

/* An instruction is a byte, and all those that there are not share a function. */
#define LABELS_HANDLERS 256
#define LABELS_MAX      512 /* with a second table */
/* The functions in a table of LABELS_HANDLERS entries or more: ascending file offsets of their starts. Returns how many
 * there are; 0: there is no such table. */
size_t labels_handlers(const struct elf_file *e, u64 starts[LABELS_MAX]);
