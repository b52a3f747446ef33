/* Declarations shared by the parts of dwarf_index_build.
 *
 * One unit at a time: read its line rows (dwarf_line.c); walk over its entries to get a node and its ranges for each
 * function and inlined call (dwarf_walk.c); sweep over the nested ranges to get disjoint spans, split at line rows
 * (dwarf_sweep.c); encode their rows (dwarf_rows.c). A chunk contains the rows of one outermost range. At the end
 * chunks are sorted; of those that overlap (folded functions, dropped code), that of the first unit is kept.
 */
#pragma once
#include "base/map.h"
#include "dwarf/file.h"
#include "dwarf/dwarf.h"
#include "dwarf/line.h"
#include "dwarf/split.h"

struct dwarf_block {
    u64 start;
    u32 off;
};
struct dwarf_chunk {
    u64 lo, hi;
    u32 block, nblocks, seq;
    bool lines_only; /* without known function: replaced by chunks with one */
};
struct dwarf_range {
    u64 lo, hi;
    u32 node;
    u32 seq : 31; /* order of the entries */
    u32 function : 1;
};
struct dwarf_out_row {
    u64 address;
    u32 node, file, line;
};

struct dwarf_builder {
    struct dwarf_file *d;
    const struct dwarf_limits *limits;
    u64 line_budget, range_budget, text_budget; /* a valid file needs each byte about once */
    u32 cuts, functions;

    VEC(u8) rows;
    VEC(struct dwarf_block) blocks;
    VEC(struct dwarf_chunk) chunks;
    VEC(struct dwarf_node) nodes;
    VEC(u32) files;
    VEC(char) strings;
    struct map by_address, by_text; /* of a name: 1 + its position in strings */
    struct map by_die, by_path;     /* entry -> 1 + string; string of a path -> 1 + file */

    struct dwarf_split split;
    u64 debug_bytes; /* of split units */

    /* Of the unit */
    struct dwarf_unit *u;
    struct dwarf_file *from; /* the file of its entries: d, or that of a split unit */
    struct dwarf_unit *code; /* the unit of the entries: u, or the split unit of a skeleton */
    struct dwarf_lines lines;
    VEC(u32) unit_files; /* by the numbers of the header: 1 + file */
    VEC(struct dwarf_range) ranges;
    VEC(struct dwarf_exec) covered; /* by functions, ascending */
    size_t line_at;                 /* position of the sweep in lines */
    struct dwarf_out_row pending[DWARF_INDEX_BLOCK_ROWS];
    unsigned npending;
    bool has_function; /* a row of the chunk has a function */
    u32 chunk_block;
    u64 chunk_lo;
};

/* dwarf_intern.c. Returns the position of a string; 0: the empty string, also if the limit is reached. If out of
 * memory, sets `cuts`. */
u32 dwarf_intern(struct dwarf_builder *b, const char *s);
/* Interns the name of the function whose entry is at `off` in d. */
u32 dwarf_intern_die(struct dwarf_builder *b, struct dwarf_file *d, u64 off);
/* Interns the path of file number `no` of the unit's line program. */
u32 dwarf_intern_file(struct dwarf_builder *b, u64 no);

/* dwarf_walk.c: finds nodes and ranges of a unit. Returns 0; -ENOSPC, -EBADMSG: incomplete; -ENOMEM. */
int dwarf_walk(struct dwarf_builder *b);
/* dwarf_sweep.c: converts ranges and lines to rows. Returns 0, -ENOSPC or -ENOMEM. */
int dwarf_sweep(struct dwarf_builder *b);

/* dwarf_rows.c. Rows ascend within a chunk. 0, -ENOSPC, -ENOMEM. */
int dwarf_put_row(struct dwarf_builder *b, u64 address, u32 node, u32 file, u32 line);
void dwarf_begin_chunk(struct dwarf_builder *b, u64 lo);
int dwarf_end_chunk(struct dwarf_builder *b, u64 hi);
/* dwarf_strings.c: builds the strings of the image; nodes and files then refer to them by number. Returns 0 or
 * -ENOMEM. */
struct dwarf_strings {
    u32 *at, *order, *rank; /* n of each */
    size_t n;
    u32 *marks;
    size_t nmarks;
    VEC(u8) bytes;
};
int dwarf_strings_make(struct dwarf_builder *b, struct dwarf_strings *s);
void dwarf_strings_free(struct dwarf_strings *s);

/* The image. 0 or -ENOMEM. */
int dwarf_finish(struct dwarf_builder *b, u64 debug_bytes, void **out, size_t *len);
