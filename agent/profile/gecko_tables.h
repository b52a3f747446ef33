/* The tables that a thread of a Firefox Profiler file has: strings, modules, functions, frames and the tree of stacks.
 * Each row is there once; columns are written as they are in the file.
 */
#pragma once
#include "base/buf.h"
#include "profile/frames.h"
#include "profile/lookup.h"

/* Rows of meta.categories, in this order. */
enum gecko_category { GECKO_OTHER, GECKO_USER, GECKO_KERNEL, GECKO_RUNTIME, GECKO_WAIT, GECKO_CATEGORIES };

struct gecko_set { /* pairs of numbers, each once */
    VEC(u64) pairs;
    struct lookup index;
};
struct gecko_tables {
    const struct profile *p;
    struct gecko_set strings; /* names for frame_text, or of files */
    struct gecko_set modules; /* strings of the profile */
    struct gecko_set frames;  /* row of functions, line */
    struct gecko_set stacks;  /* row of stacks + 1 of the caller, 0: there is none; row of frames */
    struct frame_table functions;
};

/* Adds the frames, root first. Returns the row of the stack, or -1 if out of memory. */
s64 gecko_add_stack(struct gecko_tables *t, const struct frame *frames, size_t n);
/* Returns the row of a string of the profile in the thread's table, or -1 if out of memory. */
s64 gecko_add_string(struct gecko_tables *t, u32 string);
/* Appends the members of the thread's object that hold the tables: "frameTable":{...},...,"stringArray":[...]. */
void gecko_put_tables(struct gecko_tables *t, struct buf *out);
void gecko_tables_free(struct gecko_tables *t);
