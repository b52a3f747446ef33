/* Builds the table of a file with rows for all of its code: those of merged_table.h, and rows derived from the
 * instructions of code that neither CFI nor a language's own table covers (synth/synth.h). This takes up to seconds, so
 * it is requested only when stacks have stopped in such code.
 */
#pragma once
#include "base/buf.h"
#include "cfi/table.h"
#include "parser/parser.h"
#include "synth/synth.h"

#define SYNTH_TABLE_VERSION 6 /* of the analysis; increase it when rows change: tables are stored on disk */
#define SYNTH_MAX_KEYED     ((size_t)64 << 20) /* maximum size of a file with a key */

/* The result of parser_synth. */
struct parser_synth {
    struct parser_reply bytes; /* owned: parser_reply_free */
    enum synth_drop dropped;
    struct synth_counts counts;
    u8 plain[16];                 /* with a key: the digest by parser_identify for the same bytes */
    const struct xp_table *table; /* with all rows of the file; NULL: no rows could be derived */
    size_t len;
    const void *stretches; /* by stretches: what was read so far (synth/stretch_image.h); NULL: nothing to be kept */
    size_t stretches_len;
};

/* A file to be analysed. The analysis reads all of it, because sections that are not loaded also tell where code is. A
 * key that omitted any of that would allow one container's file to be mistaken for another's. So the whole file is read
 * into memory once, and key and table are computed from that copy. A file larger than SYNTH_MAX_KEYED is mapped instead
 * and has no key: even if its owner modifies it in the meantime, its table is not used for other files. */
struct synth_file;
/* fd is borrowed for the call. Returns 0; -ESTALE: the file was truncated in the meantime; or the error of elf_open. */
int synth_file_read(struct synth_file **out, int fd);
void synth_file_free(struct synth_file **f);
/* 0 or -EFBIG. */
int synth_file_key(struct synth_file *f, const u8 secret[16], struct table_key *out);
/* The child's half: appends the reply for synth_reply_open. Call it once per file. Returns 0 or the error of
 * table_build. */
int synth_file_table(struct synth_file *f, const struct table_limits *limits, struct buf *out);

/* The same in one call: return the key; build the table if the file has that key (NULL: any), else return -ESTALE.
 * A key alone is computed from the mapped file: whoever modifies it meanwhile gets the key of no file. */
int synth_identify(int fd, const u8 secret[16], struct table_key *out);
int synth_table(int fd, const u8 secret[16], const struct table_key *key, const struct table_limits *limits,
                struct buf *out);
/* A table with rows for some stretches (synth_read_stretches) of a file. The file is mapped, and only those are read.
 * *kept: what is known of the last file (synth_kept.h), so that a call for the same one reads only what is new. NULL at
 * first. `image`: descriptor of what an earlier reply said was read of this file; -1: there is none. What it has is not
 * read again. */
struct synth_kept;
int synth_stretches(int fd, int image, const u32 *wanted, size_t n, const struct table_limits *limits,
                    struct synth_kept **kept, struct buf *out);
/* Calls `use` with the numbers in the image behind fd (borrowed), which is sound. Returns 0 or -errno; fd itself if it
 * is an error. */
int synth_stretches_list(int fd, void (*use)(void *ctx, u32 number), void *ctx);
/* For keeping what was read on disk: what identifies a file, and, of a sound image, the numbers of its stretches. */
void synth_stretches_key(const u8 secret[16], const struct xp_file_key *file, u8 out[16]);
const u32 *synth_stretches_wanted(const void *image, size_t *n);
/* The parent's half: checks everything. Fills all members except `bytes`; they point into data. Returns 0 or
 * -EBADMSG. */
int synth_reply_open(const void *data, size_t len, struct parser_synth *out);
