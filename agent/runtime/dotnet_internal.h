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

/* ---- The metadata of a module: dotnet_image.c ---- */

struct dotnet_image {
    u64 strings, strings_bytes;
    u64 table[DOTNET_TABLES]; /* addresses; 0: none could be read */
    struct dotnet_tables tables;
};

/* Finds the metadata of an image in memory. False: it is none. */
bool dotnet_image_open(struct memory *m, u64 base, struct dotnet_image *out);
/* Appends the full name of a type, by its number (from 1 on). False: it has none. */
bool dotnet_type_name(struct memory *m, const struct dotnet_image *image, u32 type, struct buf *out);
/* Appends that of a method of a type. */
bool dotnet_method_name(struct memory *m, const struct dotnet_image *image, u32 type, u32 method, struct buf *out);

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
