/* Collects what is known about a file: its kind, its unwind rows and gaps, the sources of its names and the places that
 * were searched.
 */
#pragma once
#include "inspect/binaries.h"
#include "debug/debug.h"
#include "dwarf/dwarf.h"
#include "elf/facts.h"
#include "synth/synth.h"

#define INSPECT_GAPS 5

struct inspect_gap {
    u64 offset, len; /* of code in the file without rows */
};
struct inspection {
    const struct binary *file; /* borrowed */
    int error;                 /* it cannot be read at all; all else is then empty */
    struct facts facts;
    struct xp_table table; /* the header */
    int table_error;
    bool synth_tried;        /* some code has no unwind information: its instructions were looked at */
    int synth_error;         /* of that */
    enum synth_drop dropped; /* why nothing came of it */
    struct synth_counts synth;
    u64 code, covered; /* bytes */
    u32 ngaps;
    struct inspect_gap gaps[INSPECT_GAPS]; /* the largest ones first */
    struct debug_files debug;
    struct debug_trace trace;
    int debug_error;
    struct dwarf_index_header lines;
    int lines_error; /* -ENODATA: there is no debug information */
};

/* `root`: O_PATH of where the file's debug files are looked for first; -1: none. 0 or -ENOMEM. */
int inspect(struct binaries *b, u32 id, int root, struct inspection *out);
void inspection_free(struct inspection *i);
/* The table's row at a file offset, a synthesised one where there is no other. 0, or why there is none. */
int inspect_rule(struct binaries *b, u32 id, u64 offset, struct xp_rule *out);
