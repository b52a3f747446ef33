/* What the parts of the Go reader share: reads that cannot leave an array, the record of a function, value tables. */
#pragma once
#include "runtime/gopclntab.h"
#include <string.h>

/* Outside of the bytes there are zeros. */
static inline u32 go_u32(struct go_bytes b, u64 at)
{
    u32 v = 0;
    if (at <= b.len && b.len - at >= sizeof(v))
        memcpy(&v, b.data + at, sizeof(v));
    return v;
}
static inline u64 go_u64(struct go_bytes b, u64 at)
{
    u64 v = 0;
    if (at <= b.len && b.len - at >= sizeof(v))
        memcpy(&v, b.data + at, sizeof(v));
    return v;
}
static inline struct go_bytes go_slice(struct go_bytes b, u64 at, u64 len)
{
    if (at > b.len)
        return (struct go_bytes){b.data, 0};
    return (struct go_bytes){b.data + at, len < b.len - at ? len : b.len - at};
}

struct go_func {
    u64 entry, end; /* addresses; between two functions lies padding, which belongs to the first */
    u64 tree;       /* address of the inline tree; 0: nothing is inlined */
    u32 name;       /* in names */
    u32 unit;       /* first file of its compilation unit in units */
    u32 file, line; /* value tables */
    u32 inlined;    /* value table: index in the inline tree */
    u8 id;          /* FuncID: 0 for all but the runtime's special ones and wrappers */
};

/* Address of the entry of function i; of nfuncs: the end of the last one. */
u64 go_entry(const struct gopclntab *t, u64 i);
/* Record i of the index. */
bool go_func_read(const struct gopclntab *t, u64 i, struct go_func *out);
bool go_func_at(const struct gopclntab *t, u64 address, struct go_func *out);
/* The value at an address within f. */
bool go_value(struct gopclntab *t, const struct go_func *f, u32 table, u64 address, s32 *out);

/* Finds moduledata and takes text and gofunc from it. */
bool go_module_find(struct gopclntab *t);
