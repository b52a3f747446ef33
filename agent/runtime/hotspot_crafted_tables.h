/* The bytes of a crafted process (runtime/hotspot_crafted.h), and in them the module that exports tables as HotSpot
 * does: tables of fields, of types and of constants.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "runtime/crafted_module.h"
#include <stdio.h>
#include <string.h>

#define CRAFTED_HEAP   0x8000
#define CRAFTED_END    0xc000
#define CRAFTED_SEGMAP 0x7f00
#define CRAFTED_SHIFT  7

enum crafted_age { CRAFTED_8 = 8, CRAFTED_17 = 17, CRAFTED_23 = 23, CRAFTED_25 = 25 };

struct crafted {
    u8 bytes[CRAFTED_SIZE];
    enum crafted_age age;
    u32 top; /* of what was given out */
    u32 nsymbols, fields, types, constants;
    u32 heaps; /* where the pointer to the heaps is */
    u32 nmethod, native, stub;
    u32 outer, inner, lambda; /* methods */
    u32 scopes;               /* of the nmethod */
};

#define CRAFTED_ROW  48 /* bytes of a row of each table */
#define CRAFTED_ROWS 96

#include "runtime/crafted_bytes.h"

static inline u32 crafted_text(struct crafted *c, const char *s)
{
    u32 at = crafted_alloc(c, (u32)strlen(s) + 1);
    memcpy(c->bytes + at, s, strlen(s) + 1);
    return at;
}

/* ---- The module */

static inline void crafted_symbol(struct crafted *c, const char *table, const char *what, u64 value)
{
    char name[64];
    u32 at = crafted_alloc(c, 8);
    snprintf(name, sizeof(name), "gHotSpotVM%s%s", table, what);
    crafted_put(c, at, value, 8);
    crafted_module_export(c->bytes, CRAFTED_MODULE, &c->nsymbols, name, at);
}

/* ---- Tables */

static inline u32 crafted_row(struct crafted *c, u32 *table, const char *name)
{
    u32 at = *table;
    *table += CRAFTED_ROW;
    crafted_put(c, at, crafted_text(c, name), 8);
    return at;
}

static inline void crafted_field(struct crafted *c, const char *type, const char *name, const char *of, u64 offset)
{
    u32 at = crafted_row(c, &c->fields, type);
    crafted_put(c, at + 8, crafted_text(c, name), 8);
    crafted_put(c, at + 16, crafted_text(c, of), 8);
    crafted_put(c, at + 32, offset, 8);
}

/* The value is `bytes` long. Returns where it is. */
static inline u32 crafted_static(struct crafted *c, const char *type, const char *name, u64 value)
{
    u32 at = crafted_row(c, &c->fields, type), place = crafted_alloc(c, 8);
    crafted_put(c, at + 8, crafted_text(c, name), 8);
    crafted_put(c, at + 24, 1, 4);
    crafted_put(c, at + 40, place, 8);
    crafted_put(c, place, value, 8);
    return place;
}

static inline void crafted_size(struct crafted *c, const char *type, u64 size)
{
    crafted_put(c, crafted_row(c, &c->types, type) + 24, size, 8);
}

static inline void crafted_tables(struct crafted *c)
{
    static const char *const entries[] = {"StructEntry", "TypeEntry", "IntConstantEntry"};
    c->fields = crafted_alloc(c, CRAFTED_ROWS * CRAFTED_ROW);
    c->types = crafted_alloc(c, 16 * CRAFTED_ROW);
    c->constants = crafted_alloc(c, 4 * CRAFTED_ROW);
    crafted_symbol(c, "Structs", "", c->fields);
    crafted_symbol(c, "Types", "", c->types);
    crafted_symbol(c, "IntConstants", "", c->constants);
    for (unsigned i = 0; i < 3; i++)
        crafted_symbol(c, entries[i], "ArrayStride", CRAFTED_ROW);
    crafted_symbol(c, "StructEntry", "TypeNameOffset", 0);
    crafted_symbol(c, "StructEntry", "FieldNameOffset", 8);
    crafted_symbol(c, "StructEntry", "TypeStringOffset", 16);
    crafted_symbol(c, "StructEntry", "IsStaticOffset", 24);
    crafted_symbol(c, "StructEntry", "OffsetOffset", 32);
    crafted_symbol(c, "StructEntry", "AddressOffset", 40);
    crafted_symbol(c, "TypeEntry", "TypeNameOffset", 0);
    crafted_symbol(c, "TypeEntry", "SizeOffset", 24);
    crafted_symbol(c, "IntConstantEntry", "NameOffset", 0);
    crafted_symbol(c, "IntConstantEntry", "ValueOffset", 8);
}
