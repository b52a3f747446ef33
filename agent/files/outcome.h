/* Classifies the result of synthesising rows for a file: how it is counted, what is kept for the next agent, and
 * whether another attempt follows.
 */
#pragma once
#include "files/files.h"
#include "cache/cache.h"
#include "parser/synth_table.h"
#include <errno.h>

/* Classifies the result of parser_synth. */
static inline enum files_synth files_outcome(const struct parser_synth *s)
{
    if (s->table)
        return FILES_SYNTH_DONE;
    if (s->dropped == SYNTH_DROP_NOT || s->dropped == SYNTH_DROP_NO_CODE) /* without table: nothing could be proven */
        return FILES_SYNTH_NOTHING;
    return synth_drop_is_limit(s->dropped) ? FILES_SYNTH_LIMIT : FILES_SYNTH_LEFT_OUT;
}

/* Classifies an -errno of the parser or of the shards. */
static inline enum files_synth files_outcome_of_error(int rc)
{
    if (rc == -EDQUOT || rc == -EUSERS)
        return FILES_SYNTH_NO_ROOM;
    return rc == -ENOSPC || rc == -EOVERFLOW ? FILES_SYNTH_LIMIT : FILES_SYNTH_FAILED;
}

/* Tells whether another attempt makes sense: there was no parser process or no memory. Not for -ESTALE: a changed file
 * is announced again as another one. */
static inline bool files_is_nobodys_fault(int rc)
{
    return rc == -ECHILD || rc == -ENOMEM;
}

/* Stores the result for the bytes with this key, so that the next agent does not repeat the attempt. A limit is not
 * stored: such a file is read by stretches. (Nor is a crash of the parser, because it is not known which bytes caused
 * it.) */
static inline void files_keep(struct cache *cache, const struct table_key *key, const struct parser_synth *s)
{
    struct table_key plain = *key;
    memcpy(plain.digest, s->plain, sizeof(plain.digest));
    if (files_outcome(s) == FILES_SYNTH_LIMIT)
        return;
    if (!s->table)
        cache_mark(cache, key, CACHE_NO_SYNTH);
    else if (!cache_put(cache, key, s->table, s->len))
        cache_mark(cache, &plain, CACHE_SYNTHESISED);
}
