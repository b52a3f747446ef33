/* Rows for the stretches of a binary with more code than can be analysed as a whole (synth/synth.h), as stacks and
 * addresses need them, and as the cache has them.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "parser/synth_table.h"

struct cache;
struct parser;

struct binary_stretches_source { /* borrowed */
    struct parser *parser;
    struct cache *cache; /* NULL: none */
    int fd;              /* of the file */
    const struct xp_file_key *key;
};
struct binary_stretches { /* {0} at first */
    VEC(u32) wanted;      /* ascending */
    struct parser_synth made;
    size_t kept; /* how many the cache had */
    bool loaded; /* they are wanted, too */
};

/* Makes a table with the stretches of these file offsets, too; `made` is what came of it. n = 0: with those in the
 * cache. Returns 0; -ENODATA: none of them is new; or the error of parser_stretches. */
int binary_stretches_want(struct binary_stretches *s, const struct binary_stretches_source *from, const u64 *offsets,
                          size_t n);
void binary_stretches_free(struct binary_stretches *s);
