/* Builds the table of a file with rows for all of its code: those of merged_table.h, and rows derived from the
 * instructions of code that neither CFI nor a language's own table covers (synth/synth.h). This takes up to seconds, so
 * it is requested only when stacks have stopped in such code.
 */
#pragma once
#include "base/buf.h"
#include "cfi/table.h"
#include "parser/parser.h"
#include "synth/synth.h"

#define SYNTH_TABLE_VERSION 5 /* of the analysis: to be raised when its rows change, for tables are kept on disk */
#define SYNTH_MAX_KEYED     ((size_t)64 << 20) /* bytes of a file that has a key */

/* What parser_synth leaves. */
struct parser_synth {
    struct parser_reply bytes; /* owned: parser_reply_free */
    enum synth_drop dropped;
    struct synth_counts counts;
    u8 plain[16];                 /* when there was a key: what parser_identify has as digest for the same bytes */
    const struct xp_table *table; /* with all rows of the file; NULL: none could be synthesised */
    size_t len;
};

/* A file that is looked at. The analysis reads all of it: sections that are not loaded say where code is, too, and a
 * key that left out anything of that would let one container's file stand for another's. So all of it is read into
 * memory, once, and key and table are of that. A larger file than SYNTH_MAX_KEYED is read where it lies, and has no
 * key: whatever its owner makes of it meanwhile, its table is nobody else's. */
struct synth_file;
/* fd is borrowed for the call. 0, -ESTALE (cut short meanwhile) or as elf_open. */
int synth_file_read(struct synth_file **out, int fd);
void synth_file_free(struct synth_file **f);
/* 0 or -EFBIG. */
int synth_file_key(struct synth_file *f, const u8 secret[16], struct table_key *out);
/* The child's half: what synth_reply_open reads; once for each `f`. 0 or as table_build. */
int synth_file_table(struct synth_file *f, const struct table_limits *limits, struct buf *out);

/* The same at once: the key; the table, if that is the key (NULL: whatever it is), or else -ESTALE. */
int synth_identify(int fd, const u8 secret[16], struct table_key *out);
int synth_table(int fd, const u8 secret[16], const struct table_key *key, const struct table_limits *limits,
                struct buf *out);
/* The parent's half: believes nothing. Fills all but `bytes`, and points into data. 0 or -EBADMSG. */
int synth_reply_open(const void *data, size_t len, struct parser_synth *out);
