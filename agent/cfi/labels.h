/* Finds the loop of an interpreter that no symbol names, by what such loops have: a table of the addresses of their own
 * labels, one for each instruction of the interpreter ("computed goto"). The table is known by its entries: all are
 * inside one function, as .eh_frame_hdr has them (LSB 5, 10.6.2).
 */
#pragma once
#include "elf/elf.h"

/* The function with the longest table of at least `least` labels: file offsets. False: there is none. */
bool labels_function(const struct elf_file *e, size_t least, u64 *start, u64 *end);
