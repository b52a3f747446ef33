/* The line index of a file: address -> function, inlined callers, file and line. It is made once from all of a file's
 * debug information, and is then one flat piece of memory (little-endian, no pointers) to be kept on disk and mapped; a
 * look-up is a binary search and the decoding of one block. Addresses are those of the debug information: link-time
 * ones.
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
 * A node is a function (up == 0) or one inlined call: its caller is node this - up, and the call's place its file:line.
 * A row is {address, node, file, line} and holds until the next one, so lines and inlining share one stream. A block:
 *
 *     u8 rows (<= 64), uleb node, uleb file, uleb line, and for each row
 *         u8: bits 0-5 address delta (63: a uleb more follows), bit 6: node follows, bit 7: file follows
 *         sleb line delta, [sleb node delta], [sleb file delta]
 *     uleb length of the last row
 *
 * Names are linkage names where there are such, else scope::name. Strings are sorted, and each is
 *
 *     uleb bytes that it shares with the one in front (every sixteenth shares none), uleb bytes that follow, these
 * bytes
 *
 * because mangled names repeat most of each other: Rust's take 40 % less so. String 0 is "".
 */
#pragma once
#include "bpf/types.h"
#include "elf/elf.h"
#include <stdbool.h>
#include <stddef.h>

#define DWARF_INDEX_MAGIC      0x32494458u /* "XDI2" */
#define DWARF_INDEX_STRINGS    16          /* strings between two that share nothing */
#define DWARF_INDEX_MAX_TEXT   (16u << 10) /* bytes of a string, its end not counted */
#define DWARF_INDEX_BLOCK_ROWS 64
#define DWARF_INDEX_MAX_FRAMES 64 /* inlined calls deeper than that lose their outermost callers */

/* Why an index has less than the file: bits of dwarf_index_header.cuts. */
enum dwarf_cut {
    DWARF_CUT_TIME = 1 << 0,    /* limits.cpu_ns */
    DWARF_CUT_BYTES = 1 << 1,   /* limits.max_bytes, or memory */
    DWARF_CUT_LINES = 1 << 2,   /* line programs much longer than their bytes */
    DWARF_CUT_RANGES = 1 << 3,  /* the same of ranges */
    DWARF_CUT_NAMES = 1 << 4,   /* the same of names */
    DWARF_CUT_DEPTH = 1 << 5,   /* entries in entries in entries */
    DWARF_CUT_DAMAGED = 1 << 6, /* units that make no sense */
    DWARF_CUT_PARTS = 1 << 7,   /* other files that it refers to are not there */
};

struct dwarf_index_header {
    u32 magic, nblocks, nnodes, nfiles;
    u32 rows_len, strings_len;
    u32 cuts;
    u32 functions; /* with code; nnodes has the inlined calls, too */
    u64 base;
    u64 debug_bytes; /* of the sections that it was made from, inflated */
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
    u64 cpu_ns;       /* from the start of the build, of the whole process */
    size_t max_bytes; /* of the index */
};
#define DWARF_LIMITS_DEFAULT                                    \
    {                                                           \
        .cpu_ns = 6000000000ull, .max_bytes = (size_t)192 << 20 \
    }

/* What belongs to a file's debug information, but lies elsewhere. */
struct dwarf_parts {
    const struct elf_file *alt;                               /* what dwz moved out; NULL: nothing */
    const struct elf_file *dwp;                               /* a package of split units; NULL: none */
    int (*dwo)(void *ctx, const char *dir, const char *name); /* as in struct dwarf_fds */
    void *ctx;
};

/* Reads the debug information of `e`, with its parts (NULL: none). What goes beyond a
 * limit or is damaged costs itself: the rest is indexed, and `cuts` says why. *out is malloc'ed and owned by the
 * caller. 0, -ENODATA (no debug information), -ENOTSUP (a relocatable object), -EBADMSG, -ENOMEM. Runs in the parser
 * process.
 */
int dwarf_index_build(const struct elf_file *e, const struct dwarf_parts *parts, const struct dwarf_limits *limits,
                      void **out, size_t *len);
/* Descriptors of all that an index is made of: borrowed, opened O_RDONLY; -1: not there. */
struct dwarf_fds {
    int file;
    int debug; /* read in place of `file`; whoever gives it has compared (debug_links.h) */
    int alt;   /* what dwz moved out of the one that is read */
    int dwp;   /* package of its split units */
    /* Opens a split unit (.dwo) by directory and name, as they stand in the file that is read; "": no directory. An
     * owned fd or -errno. NULL: none can be had. */
    int (*dwo)(void *ctx, const char *dir, const char *name);
    void *ctx;
};
#define DWARF_FDS_OF(fd)                                \
    {                                                   \
        .file = (fd), .debug = -1, .alt = -1, .dwp = -1 \
    }
/* The same of files, under the default limits. -ESTALE: `file` and `debug` have different build IDs. */
int dwarf_index_build_fds(const struct dwarf_fds *f, void **out, size_t *len);

/* The checksum, for what comes from a disk. 0 or -EBADMSG. */
int dwarf_index_check(const void *data, size_t len);

struct dwarf_index {
    const struct dwarf_index_header *h;
    const u32 *start, *off, *files, *string_at;
    const struct dwarf_node *nodes;
    const u8 *rows, *strings;
};
/* A view of `len` bytes (aligned to 8, borrowed): sizes are checked now, each record when it is used, so that a bad
 * index gives wrong answers and no more. 0 or -EBADMSG. */
int dwarf_index_open(struct dwarf_index *x, const void *data, size_t len);

struct dwarf_frame {
    u32 name, file; /* strings, for dwarf_index_text; 0: unknown */
    u32 line;       /* 0: unknown */
};
/* The frames of an address, innermost first; 0: the index does not cover it. */
unsigned dwarf_index_find(const struct dwarf_index *x, u64 address, struct dwarf_frame out[DWARF_INDEX_MAX_FRAMES]);

struct dwarf_text {
    size_t len;
    char s[DWARF_INDEX_MAX_TEXT + 1]; /* NUL-terminated */
};
/* String i; "" when there is none, or when it makes no sense. */
void dwarf_index_text(const struct dwarf_index *x, u32 i, struct dwarf_text *out);
