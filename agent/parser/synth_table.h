/* The table of a file with rows for all of its code: those that merged_table.h finds, and those that can be read off
 * the instructions where neither CFI nor a language's own table covers them (synth/synth.h). It takes up to seconds, so
 * nobody asks for it before stacks have stopped there.
 */
#pragma once
#include "base/buf.h"
#include "object/table.h"
#include "parser/parser.h"
#include "synth/synth.h"

#define SYNTH_TABLE_VERSION 3 /* of the analysis: to be raised when its rows change, for tables are kept on disk */

/* What parser_synth leaves. */
struct parser_synth {
    struct parser_reply bytes; /* owned: parser_reply_free */
    enum synth_drop dropped;
    struct synth_counts counts;
    const struct xp_table *table; /* with all rows of the file; NULL: none could be synthesised */
    size_t len;
};

/* As table_identify, but of all that synthesised rows depend on: the whole file. -ENOSPC: it has more than half a
 * gigabyte. */
int synth_identify(int fd, const u8 secret[16], struct table_key *out);
/* The child's half: what synth_reply_open reads. 0 or as table_build. */
int synth_table(int fd, const struct table_limits *limits, struct buf *out);
/* The parent's half: believes nothing. Fills all but `bytes`, and points into data. 0 or -EBADMSG. */
int synth_reply_open(const void *data, size_t len, struct parser_synth *out);
