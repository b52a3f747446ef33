/* The name index of a file: file offset -> function, from its symbols, its unwind information and its PLT. It is built
 * once from all sources of names besides debug information, as one flat block of memory (little-endian, no pointers)
 * that is stored on disk and mapped. A look-up is a binary search and the decoding of one block, where symbol tables
 * would have to be read as a whole.
 *
 *     struct name_index_header
 *     struct name_index_segment segments[nsegments]   the executable ones
 *     u32 start[nblocks]       ascending, relative to base
 *     u32 off[nblocks + 1]     the block's place in rows
 *     u8 rows[rows_len]
 *
 * A row applies up to the next one, and says what names_resolve would find in the file. A block:
 *
 *     up to NAME_INDEX_ROWS rows, until the block ends
 *         uleb distance to the previous row (0 for the first, which is at the block's start)
 *         u8: bits 0-2 enum name_kind, bit 3: uleb distance to the start of the function follows
 *         if it has a name: uleb length of the prefix shared with the previous name of the block (0 for the first),
 *             uleb length of the rest, the bytes of the rest
 *
 * because symbols that lie side by side have long common prefixes.
 */
#pragma once
#include "bpf/types.h"
#include "elf/symbols.h"

#define NAME_INDEX_MAGIC        0x32494e58u /* "XNI2" */
#define NAME_INDEX_ROWS         16
#define NAME_INDEX_MAX_SEGMENTS 16
#define NAME_INDEX_MAX_BYTES    ((size_t)96 << 20)

enum name_kind {
    NAME_NONE,
    NAME_FDE,   /* code without a name; `start` is that of its FDE */
    NAME_STUB,  /* of the PLT */
    NAME_LABEL, /* a symbol without size; debug information knows better */
    NAME_SIZED,
};

/* What is known of an offset. */
struct name_hit {
    enum name_kind kind;
    u64 start; /* file offset of the function; NAME_NONE: unknown */
    u64 id;    /* the same for the same name of a file; 0: not known to be the same */
    u32 len;
    const char *name; /* `len` arbitrary bytes, not terminated; NULL: NAME_NONE and NAME_FDE */
};

struct name_index_header {
    u32 magic, nblocks, rows_len, nsegments;
    u32 runtime;       /* 1: a runtime has names for this file, too (runtime/file.h) */
    u32 keep_suffixes; /* 1: names of a compiler that does not add suffixes for clones */
    u64 base;
    u64 checksum; /* of everything else */
};
_Static_assert(sizeof(struct name_index_header) == 40, "as on disk");

struct name_index_segment {
    u64 offset, vaddr, size;
};

/* Builds the index of `e`; `more`: a file whose .symtab has the same addresses, or NULL. *out is malloc'ed and owned by
 * the caller. Returns 0; -ENOSPC: the file is beyond a limit; -ENOMEM. Runs in the parser process. */
int name_index_build(const struct elf_file *e, const struct elf_file *more, bool runtime, void **out, size_t *len);

/* Builds one of functions that are known otherwise. `symbols`: by ascending start, malloc'ed; it becomes the builder's.
 * `segments` say where code is; names keep their suffixes. Otherwise the same. */
int name_index_of(struct symbol *symbols, size_t n, const struct name_index_segment *segments, size_t nsegments,
                  size_t max_bytes, void **out, size_t *len);

/* Verifies the checksum of an index from disk. Returns 0 or -EBADMSG. */
int name_index_check(const void *data, size_t len);

struct name_index {
    const struct name_index_header *h;
    const struct name_index_segment *segments;
    const u32 *start, *off;
    const u8 *rows;
};
/* Opens a view of `len` bytes (aligned to 8, borrowed). Sizes are checked now, rows when they are used, so that the
 * worst effect of a bad index is a wrong result. Returns 0 or -EBADMSG. */
int name_index_open(struct name_index *x, const void *data, size_t len);

struct name_index_text {
    char s[SYMBOLS_MAX_NAME];
};
/* Finds what covers a file offset. out->name points into `text`. */
void name_index_find(const struct name_index *x, u64 offset, struct name_index_text *text, struct name_hit *out);
/* Converts a file offset of code to its link-time address. False: no segment has it. */
bool name_index_address(const struct name_index *x, u64 offset, u64 *address);
