/* Parses the header of a line number program. */
#pragma once
#include "dwarf/line.h"

struct dwarf_line_header {
    u8 min_length, max_ops, line_range, opcode_base, offset_size;
    int8_t line_base;
    u16 version;
    u8 args[256]; /* operands of standard opcodes */
    struct cursor program;
};

/* Also fills in out->dirs and out->files. 0, -ENOTSUP, -EBADMSG, -ENOSPC, -ENOMEM. */
int dwarf_line_header_read(struct dwarf_file *d, const struct dwarf_unit *u, struct dwarf_line_header *h,
                           struct dwarf_lines *out);
