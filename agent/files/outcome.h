/* Classifies the result of synthesising rows for a file: how it is counted, what is kept for the next agent, and
 * whether another attempt follows.
 */
#pragma once
#include "files/files.h"
#include "cache/cache.h"
#include "parser/synth_table.h"
#include <errno.h>

/* Of what parser_synth left. */
static inline enum files_synth files_outcome(const struct parser_synth *s)
{
    if (s->table)
        return FILES_SYNTH_DONE;
    switch (s->dropped) {
    case SYNTH_DROP_NOT: /* and yet no table: nothing could be proven */
    case SYNTH_DROP_NO_CODE:
        return FILES_SYNTH_NOTHING;
    case SYNTH_DROP_BYTES:
    case SYNTH_DROP_INSNS:
    case SYNTH_DROP_MEMORY:
    case SYNTH_DROP_TIME:
        return FILES_SYNTH_LIMIT;
    default:
        return FILES_SYNTH_LEFT_OUT;
    }
}

/* Of -errno, the parser's or that of the shards. */
static inline enum files_synth files_outcome_of_error(int rc)
{
    if (rc == -EDQUOT || rc == -EUSERS)
        return FILES_SYNTH_NO_ROOM;
    return rc == -ENOSPC || rc == -EOVERFLOW ? FILES_SYNTH_LIMIT : FILES_SYNTH_FAILED;
}

/* For want of a process or of memory: worth another attempt, as the file is what it was. -ESTALE is not: as another one
 * it is announced again. */
static inline bool files_is_nobodys_fault(int rc)
{
    return rc == -ECHILD || rc == -ENOMEM;
}

/* Keeps what became of the bytes with this key, so that the next agent need not ask. Not that time ran out: another
 * machine, or another hour, may have more of it. (Nor that they cost the parser its life, for which bytes did is not
 * known.) */
static inline void files_keep(struct cache *cache, const struct table_key *key, const struct parser_synth *s)
{
    struct table_key plain = *key;
    memcpy(plain.digest, s->plain, sizeof(plain.digest));
    if (s->dropped == SYNTH_DROP_TIME)
        return;
    if (!s->table)
        cache_mark(cache, key, CACHE_NO_SYNTH);
    else if (!cache_put(cache, key, s->table, s->len))
        cache_mark(cache, &plain, CACHE_SYNTHESISED);
}
