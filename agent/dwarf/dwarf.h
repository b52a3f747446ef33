/* The line index of a file: address -> function, inlined callers, file and line. It is built once from all debug
 * information of a file, as one flat block of memory (little-endian, no pointers) that is stored on disk and mapped. A
 * look-up is a binary search and the decoding of one block. Addresses are link-time addresses, as in the debug
 * information.
 *
 *     struct dwarf_index_header
 *     u32 start[nblocks]       ascending, relative to base
 *     u32 off[nblocks + 1]     the block's place in rows
 *     struct dwarf_node nodes[nnodes]   0: unknown function
 *     u32 files[nfiles]        string of a path; 0: unknown
 *     u32 string_at[(nstrings + 15) / 16]   of each sixteenth string, its place in strings
 *     u8 rows[rows_len]
 *     u8 strings[strings_len]
 *
 * A node is a function (up == 0) or an inlined call: its caller is node this - up, and file:line is the position of the
 * call. A row is {address, node, file, line} and applies up to the next one, so lines and inlining share one stream. A
 * block:
 *
 *     u8 rows (<= 64), uleb node, uleb file, uleb line, and for each row
 *         u8: bits 0-5 address delta (63: a uleb more follows), bit 6: node follows, bit 7: file follows
 *         sleb line delta, [sleb node delta], [sleb file delta]
 *     uleb length of the last row
 *
 * Names are linkage names if available, else scope::name. Strings are sorted, and each is encoded as
 *
 *     uleb length of the prefix shared with the previous string (0 in every sixteenth), uleb length of the rest, the
 *     bytes of the rest
 *
 * because mangled names have long common prefixes: this saves 40 % for Rust. String 0 is "".
 */
#pragma once
#include "bpf/types.h"
#include "elf/elf.h"
#include <stdbool.h>
#include <stddef.h>

#define DWARF_INDEX_MAGIC      0x33494458u /* "XDI3" */
#define DWARF_INDEX_STRINGS    16          /* one of so many strings shares no prefix */
#define DWARF_INDEX_MAX_TEXT   (16u << 10) /* bytes of a string, without NUL */
#define DWARF_INDEX_BLOCK_ROWS 64
#define DWARF_INDEX_MAX_FRAMES 64 /* deeper inlined calls lose their outermost callers */

/* Reasons why an index is incomplete: bits of dwarf_index_header.cuts. */
enum dwarf_cut {
    DWARF_CUT_TIME = 1 << 0,    /* limits.cpu_ns */
    DWARF_CUT_BYTES = 1 << 1,   /* limits.max_bytes, or memory */
    DWARF_CUT_LINES = 1 << 2,   /* line programs much longer than their bytes */
    DWARF_CUT_RANGES = 1 << 3,  /* the same for ranges */
    DWARF_CUT_NAMES = 1 << 4,   /* the same for names */
    DWARF_CUT_DEPTH = 1 << 5,   /* too deeply nested entries */
    DWARF_CUT_DAMAGED = 1 << 6, /* malformed units */
    DWARF_CUT_PARTS = 1 << 7,   /* other files that it refers to are missing */
};

struct dwarf_index_header {
    u32 magic, nblocks, nnodes, nfiles;
    u32 rows_len, strings_len;
    u32 cuts;
    u32 functions; /* with code; nnodes also counts inlined calls */
    u64 base;
    u64 debug_bytes; /* uncompressed size of the sections */
    u64 checksum;    /* of everything else */
    u32 nstrings, pad;
};
_Static_assert(sizeof(struct dwarf_index_header) == 64, "as on disk");

struct dwarf_node {
    u32 name;
    u32 line : 24, file_hi : 8;
    u16 file_lo, up;
};
_Static_assert(sizeof(struct dwarf_node) == 12, "as on disk");

struct dwarf_limits {
    u64 cpu_ns;       /* CPU time of the whole process, since the start of the build */
    size_t max_bytes; /* of the index */
    u64 whole_bytes;  /* .debug_info up to this size is inflated at once, which takes a third of the time */
};
#define DWARF_LIMITS_DEFAULT                                                             \
    {                                                                                    \
        .cpu_ns = 6000000000ull, .max_bytes = (size_t)192 << 20, .whole_bytes = 16 << 20 \
    }

/* Parts of a file's debug information that are in other files. */
struct dwarf_parts {
    const struct elf_file *alt;                               /* file with the parts moved by dwz; NULL: none */
    const struct elf_file *dwp;                               /* a package of split units; NULL: none */
    int (*dwo)(void *ctx, const char *dir, const char *name); /* as in struct dwarf_fds */
    void *ctx;
};

/* Reads the debug information of `e`, with its parts (NULL: none). Damaged parts and those beyond a limit are left out:
 * the rest is indexed, and `cuts` has the reasons. *out is malloc'ed and owned by the caller. Returns 0; -ENODATA: no
 * debug information; -ENOTSUP: a relocatable object; -EBADMSG; -ENOMEM. Runs in the parser process.
 */
int dwarf_index_build(const struct elf_file *e, const struct dwarf_parts *parts, const struct dwarf_limits *limits,
                      void **out, size_t *len);
/* Descriptors of all files for an index: borrowed, opened O_RDONLY; -1: none. */
struct dwarf_fds {
    int file;
    int debug; /* read instead of `file`; the caller has compared them (debug_links.h) */
    int alt;   /* file with the parts moved by dwz */
    int dwp;   /* package of its split units */
    /* Opens a split unit (.dwo) by directory and name, as stored in the file; "": no directory. Returns an owned fd or
     * -errno. NULL: split units are not available. */
    int (*dwo)(void *ctx, const char *dir, const char *name);
    void *ctx;
};
#define DWARF_FDS_OF(fd)                                \
    {                                                   \
        .file = (fd), .debug = -1, .alt = -1, .dwp = -1 \
    }
/* The same for descriptors, with the default limits. -ESTALE: `file` and `debug` have different build IDs. */
int dwarf_index_build_fds(const struct dwarf_fds *f, void **out, size_t *len);

/* Verifies the checksum of an index from disk. Returns 0 or -EBADMSG. */
int dwarf_index_check(const void *data, size_t len);

struct dwarf_index {
    const struct dwarf_index_header *h;
    const u32 *start, *off, *files, *string_at;
    const struct dwarf_node *nodes;
    const u8 *rows, *strings;
};
/* Opens a view of `len` bytes (aligned to 8, borrowed). Sizes are checked now, records when they are used, so that the
 * worst effect of a bad index is a wrong result. Returns 0 or -EBADMSG. */
int dwarf_index_open(struct dwarf_index *x, const void *data, size_t len);

struct dwarf_frame {
    u32 name, file; /* strings, for dwarf_index_text; 0: unknown */
    u32 line;       /* 0: unknown */
};
/* Finds the frames of an address, innermost first. Returns their number; 0: the index does not cover the address. */
unsigned dwarf_index_find(const struct dwarf_index *x, u64 address, struct dwarf_frame out[DWARF_INDEX_MAX_FRAMES]);

struct dwarf_text {
    size_t len;
    char s[DWARF_INDEX_MAX_TEXT + 1]; /* NUL-terminated */
};
/* Reads string i; "" if it does not exist or is malformed. */
void dwarf_index_text(const struct dwarf_index *x, u32 i, struct dwarf_text *out);
