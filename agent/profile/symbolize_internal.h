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
    /* Row in out->processes of an anonymous word, or NOBODYS; of a file's, the ID of its names if that is not the
     * file's own; 0 for all others. */
    VEC(u32) owners;
    struct lookup functions; /* of out->functions */
    struct lookup mappings;  /* of out->mappings */
    bool failed;             /* out of memory */
};

/* Symbolizes all locations without lines, grouped by file, in the order of files and offsets. */
void naming_run(struct naming *n);
void naming_free(struct naming *n);

/* Kernel words always have the bit; symbolize clears it in return addresses. */
static inline bool word_exact(u64 word)
{
    return word & XP_WORD_EXACT;
}
