/* The second half of symbolize.c: adds lines, functions and a mapping to locations, which so far have only their word.
 */
#pragma once
#include "profile/lookup.h"
#include "profile/symbolize.h"

struct naming {
    const struct name_source *src;
    struct profile *out;
    VEC(u64) words;          /* of out->locations, the same rows */
    VEC(u32) owners;         /* the process (row in out->processes) of an anonymous word; 0 for all others */
    struct lookup functions; /* of out->functions */
    struct lookup mappings;  /* of out->mappings */
    bool failed;             /* without memory */
};

/* Names all locations that have no lines yet: those of a file together, in the order of files and offsets. */
void naming_run(struct naming *n);
void naming_free(struct naming *n);

/* Kernel words always have the bit; symbolize clears it in those that are return addresses. */
static inline bool word_exact(u64 word)
{
    return word & XP_WORD_EXACT;
}
static inline bool word_in_file(u64 word)
{
    u32 kind = XP_WORD_KIND(word);
    return kind >= XP_WORD_CFI && kind <= XP_WORD_INFERRED;
}
