/* Collects what is known about a file: its kind, its unwind rows and gaps, the sources of its names, and the searched
 * paths.
 */
#pragma once
#include "inspect/binaries.h"
#include "debug/debug.h"
#include "dwarf/dwarf.h"
#include "elf/facts.h"
#include "synth/synth.h"

#define INSPECT_GAPS 5

struct inspect_gap {
    u64 offset, len; /* code in the file without rows */
};
struct inspection {
    const struct binary *file; /* borrowed */
    int error;                 /* it cannot be read; everything else is then empty */
    struct facts facts;
    struct xp_table table; /* the header */
    int table_error;
    bool synth_tried;        /* instructions of code without unwind information were analysed */
    int synth_error;         /* error of that analysis */
    enum synth_drop dropped; /* why it had no result */
    struct synth_counts synth;
    bool by_stretches; /* it is too much to be analysed as a whole: these are about the stretches in the cache */
    u32 nstretches;
    u64 code, covered; /* bytes */
    u32 ngaps;
    struct inspect_gap gaps[INSPECT_GAPS]; /* the largest ones first */
    struct debug_files debug;
    struct debug_trace trace;
    int debug_error;
    struct dwarf_index_header lines;
    int lines_error; /* -ENODATA: there is no debug information */
};

/* `root`: O_PATH of the root that is searched first for debug files; -1: none. Returns 0 or -ENOMEM. */
int inspect(struct binaries *b, u32 id, int root, struct inspection *out);
void inspection_free(struct inspection *i);
/* Returns the rule at a file offset; a synthesised one if there is no other. Returns 0, or an error if there is
 * none. */
int inspect_rule(struct binaries *b, u32 id, u64 offset, struct xp_rule *out);
