/* Debug information that tests write by hand, section by section. */
#pragma once
#include "base/buf.h"
#include "base/cleanup.h"
#include "bpf/types.h"

struct craft {
    struct buf abbrev, info, line, ranges, str;
    u64 inflated; /* .debug_info is compressed, and its header has this size; 0: not compressed */
};
void craft_free(struct craft *c);
#define AUTO_CRAFT CLEANUP(craft_free) struct craft

/* The lowest n bytes of a number. */
void craft_put(struct buf *b, u64 v, size_t n);
void craft_uleb(struct buf *b, u64 v);
/* Pairs of attribute and form follow, then 0. */
void craft_abbrev(struct buf *b, u64 code, unsigned tag, bool children, const u16 *specs);
/* The header of a unit of version 4, whose entries follow; for craft_end_unit. */
size_t craft_unit(struct buf *info, u32 abbrev_off);
void craft_end_unit(struct buf *info, size_t unit);
/* A program of version 4 and of one file, whose steps are 1 byte: opcodes from 13 on with line base -5 and range 14. */
void craft_line_program(struct buf *line, const void *ops, size_t n);
/* The ELF file (crafted.h) with these sections; their names end with `suffix`. 0 or -ENOMEM. */
int craft_file(const struct craft *c, const char *suffix, struct buf *out);
