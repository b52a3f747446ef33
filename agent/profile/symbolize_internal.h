/* The second half of symbolize.c: adds lines, functions and a mapping to locations, which have only their word so far.
 */
#pragma once
#include "profile/lookup.h"
#include "profile/reason.h"
#include "profile/symbolize.h"

/* Instead of a process: code of one that is not known here. */
#define NOBODYS UINT32_MAX

struct naming {
    const struct name_source *src;
    struct profile *out;
    VEC(u64) words; /* same rows as out->locations */
    VEC(u64) more;  /* second words of frames of runtimes; 0: there is none */
    /* Row in out->processes of an anonymous word or a frame of a runtime, or NOBODYS; of a file's, the ID of its names
     * if that is not the file's own; 0 for all others. */
    VEC(u32) owners;
    struct lookup functions; /* of out->functions */
    struct lookup mappings;  /* of out->mappings */
    bool failed;             /* out of memory */
};

/* Symbolizes all locations without lines, grouped by file, in the order of files and offsets. */
void naming_run(struct naming *n);
void naming_free(struct naming *n);

/* Names the frames of the runtime of one process (runtime_frames.c): rows of locations, ascending by their words. */
void naming_runtime(struct naming *n, u32 owner, const u32 *rows, size_t nrows);

/* ---- Rows (naming_rows.c). What they return is not to be used once `failed` is set. ---- */

/* The mapping with this name and build ID. `locks`: a file's row for these, or another one for them alone, in which
 * addresses are not those of code. */
u32 naming_mapping(struct naming *n, const char *name, const char *build_id, bool locks);
/* Puts a location into a mapping, which then covers its address, whose file offset is `offset`. */
void naming_put(struct naming *n, struct prof_location *l, u32 mapping, u64 address, u64 offset);
/* Adds the location's next line, from the inside out; naming_plain_line: one without file, of a function that has one
 * name only. */
void naming_line(struct naming *n, struct prof_location *l, const struct prof_function *f, u32 line);
void naming_plain_line(struct naming *n, struct prof_location *l, const char *name);

/* Notes how far it is from the entry of its function to the address of a location. */
void naming_distance(struct prof_location *l, u64 word, u64 looked_up, u64 entry);

/* ---- Words ---- */

/* Kernel words always have the bit; symbolize clears it in return addresses. */
static inline bool word_exact(u64 word)
{
    return word & XP_WORD_EXACT;
}
