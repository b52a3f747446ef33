/* Shared by the files that read .NET (runtime/dotnet.h). */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "proc/memory.h"
#include "proc/module.h"
#include "runtime/dotnet.h"
#include "runtime/frame_reply.h"

/* ---- The layout: dotnet_layout.c ---- */

/* Fills it in from what the module exports. 0; -ENODATA: it is no .NET; -ENOTSUP: something is missing. */
int dotnet_layout(struct memory *m, const struct module *mod, struct dotnet_layout *out);

/* ---- Tables of metadata: dotnet_tables.c ---- */

enum { /* II.22 */
       DOTNET_TYPE = 0x02,
       DOTNET_METHOD = 0x06,
       DOTNET_NESTED = 0x29,
       DOTNET_TABLES, /* up to the last one that is looked at */
       DOTNET_COLUMNS = 9,
};
struct dotnet_tables {
    u32 rows[64];
    u8 wide; /* HeapSizes: indexes of strings (1), GUIDs (2), blobs (4) have 4 bytes */
};
/* Where a column is, in bytes from the start of a row, and its size. `column` DOTNET_COLUMNS: at the end of the row. */
u32 dotnet_column(const struct dotnet_tables *t, u32 table, u32 column, u32 *bytes);

/* ---- Headers of an image: dotnet_pe.c ---- */

#define DOTNET_SECTIONS  64
#define DOTNET_CLI_BYTES 72 /* of the CLI header */
struct dotnet_section {
    u32 rva, bytes; /* relative virtual address; bytes in the file */
    u32 place;      /* in the file */
};
struct dotnet_pe {
    u64 base;
    u32 n, cli; /* cli: relative virtual address of the CLI header */
    struct dotnet_section sections[DOTNET_SECTIONS];
};
/* Reads them, of an image in memory or a file (base 0). False: it is no image with a CLI header. */
bool dotnet_pe_open(struct memory *m, u64 base, struct dotnet_pe *out);
/* Returns the place of a relative virtual address in the file; 0: none. */
u32 dotnet_pe_place(const struct dotnet_pe *p, u32 rva);

/* ---- The metadata of a module: dotnet_image.c ---- */

struct dotnet_image {
    u64 strings, strings_bytes;
    u64 table[DOTNET_TABLES]; /* addresses; 0: none could be read */
    struct dotnet_tables tables;
};

/* Finds the metadata of an image in memory, or in a file (base 0). False: it is none. */
bool dotnet_image_open(struct memory *m, u64 base, struct dotnet_image *out);
/* Appends the full name of a type, by its number (from 1 on). False: it has none. */
bool dotnet_type_name(struct memory *m, const struct dotnet_image *image, u32 type, struct buf *out);
/* Returns a number in a table; 0 if *ok is false or becomes so: there is no such row. Rows count from 1 on. */
u32 dotnet_cell(struct memory *m, const struct dotnet_image *i, u32 table, u32 row, u32 column, bool *ok);
/* Returns the type that a method is of; 0: unknown. */
u32 dotnet_method_type(struct memory *m, const struct dotnet_image *image, u32 method);
/* Appends that of a method of a type. */
bool dotnet_method_name(struct memory *m, const struct dotnet_image *image, u32 type, u32 method, struct buf *out);

/* ---- Tables of code that was compiled ahead of time: dotnet_native.c, dotnet_signature.c ---- */

/* Reads an unsigned number and moves on behind it. */
u32 dotnet_unsigned(struct memory *m, u64 *at, bool *ok);
struct dotnet_array { /* a sparse one */
    u64 base;
    u32 n, index_bytes;
};
bool dotnet_array_open(struct memory *m, u64 at, struct dotnet_array *out);
/* Returns where an element is; 0: there is none. */
u64 dotnet_array_find(struct memory *m, const struct dotnet_array *a, u32 index);
/* Calls `each` for the entries of a hash table, until it returns something else than 0, which is returned then. */
int dotnet_hash_each(struct memory *m, u64 at, int (*each)(void *ctx, u64 entry), void *ctx);
/* Reads which method of its own module an instance is one of (0: of another one's), and moves on behind it. False: it
 * was not understood. */
bool dotnet_signature(struct memory *m, u64 *at, u32 *method);

/* ---- Code: dotnet_code.c ---- */

struct dotnet_code {
    u64 start, end; /* of all parts of a method's code; start 0: none was found */
    u64 method;     /* MethodDesc */
};

struct dotnet_query { /* one request */
    struct memory *m;
    const struct dotnet *d;
    struct frame_reply reply;
    struct map found; /* address -> 1 + index of `codes` */
    VEC(struct dotnet_code) codes;
    struct map names;  /* MethodDesc -> 1 + offset in texts */
    struct map images; /* address -> 1 + index of `known` */
    VEC(struct dotnet_image) known;
    u64 search_left; /* places where code may begin, that may still be looked at */
};

struct dotnet_method {
    u64 module;
    u32 type, number; /* of metadata, from 1 on */
    bool dynamic;     /* it has no metadata but a name */
};
/* Reads what a MethodDesc says. False: it is none. */
bool dotnet_method(struct memory *m, const struct dotnet_layout *l, u64 desc, struct dotnet_method *out);
/* Tells whether code of a method begins at `start` that contains `pc`. */
bool dotnet_code_at(struct dotnet_query *q, u64 start, u64 pc, struct dotnet_code *out);
/* Finds the code that contains `pc`. False: there is none. */
bool dotnet_code_of(struct dotnet_query *q, u64 pc, struct dotnet_code *out);
