/* A process with .NET, crafted for tests: bytes whose offsets are its addresses, and its mappings. Four methods of a
 * module have code, and one that was made at run time.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "runtime/crafted_module.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define CRAFTED_HEAP  0x8000 /* code: 0x100 bytes for each method */
#define CRAFTED_IMAGE 0x9000
#define CRAFTED_RVA   0x200 /* of the only section, which is at CRAFTED_RAW in the file */
#define CRAFTED_RAW   0x180
#define CRAFTED_CODE  0x80 /* bytes of a method, the second part of which has half of them */

enum { /* methods, the first ones as in the metadata */
       CRAFTED_MAIN,
       CRAFTED_NESTED,
       CRAFTED_MACHINE,
       CRAFTED_FREE, /* in no type */
       CRAFTED_DYNAMIC,
       CRAFTED_METHODS,
};
enum {                      /* builds */
       CRAFTED_TYPED = 1,   /* fields are lists of an offset and its type */
       CRAFTED_LOADED = 2,  /* sections of the image are where they say */
       CRAFTED_WIDE = 4,    /* indexes of strings have 4 bytes */
       CRAFTED_GENERIC = 8, /* types have a canonical one */
       CRAFTED_BUILDS = 16,
};

struct crafted {
    u8 bytes[CRAFTED_SIZE];
    unsigned build;
    u32 top; /* of what was given out */
    u32 nsymbols, descriptor;
    u32 code[CRAFTED_METHODS], header[CRAFTED_METHODS], desc[CRAFTED_METHODS], table[CRAFTED_METHODS];
    u32 module, strings, root;
};

#include "runtime/crafted_bytes.h"

/* ---- The description */

static inline u32 crafted_text(struct crafted *c, const char *s)
{
    u32 at = crafted_alloc(c, (u32)strlen(s) + 1);
    strcpy((char *)c->bytes + at, s);
    return at;
}

/* '@' and a number is a field. */
static inline void crafted_describe(struct crafted *c)
{
    static const char form[] =
        "{\"version\":0,\"types\":{\"Module\":{\"Base\":@40},\"MethodTable\":{\"MTFlags2\":@8,\"EEClassOrCanonMT\":@32,"
        "\"Module\":@24},\"EEClass\":{\"MethodTable\":@16},\"MethodDesc\":{\"ChunkIndex\":@2,\"Slot\":@4,\"Flags\":@6,"
        "\"Flags3AndTokenRemainder\":@0},\"MethodDescChunk\":{\"!\":24,\"MethodTable\":@0,\"FlagsAndTokenRange\":@18},"
        "\"DynamicMethodDesc\":{\"MethodName\":@16}},\"globals\":{\"MethodDescTokenRemainderBitCount\":[\"0xc\","
        "\"uint8\"],\"MethodDescAlignment\":[\"0x8\",\"uint64\"]}}";
    char text[2048];
    size_t n = 0;
    for (const char *p = form; *p; p++) {
        if (*p != '@') {
            text[n++] = *p;
            continue;
        }
        size_t digits = strspn(p + 1, "0123456789");
        bool typed = c->build & CRAFTED_TYPED;
        n += (size_t)sprintf(text + n, "%s%.*s%s", typed ? "[" : "", (int)digits, p + 1, typed ? ",\"pointer\"]" : "");
        p += digits;
    }
    text[n] = 0;
    c->descriptor = crafted_alloc(c, 40);
    crafted_put(c, c->descriptor, 0x0043414443434e44, 8);
    crafted_put(c, c->descriptor + 8, 1, 4);
    crafted_put(c, c->descriptor + 12, n, 4);
    crafted_put(c, c->descriptor + 16, crafted_text(c, text), 8);
    crafted_module_export(c->bytes, CRAFTED_MODULE, &c->nsymbols, "DotNetRuntimeContractDescriptor", c->descriptor);
}

/* ---- The module's metadata */

static inline u32 crafted_row(struct crafted *c, u32 at, const char *sizes, const u32 *values)
{
    for (; *sizes; sizes++, values++) {
        unsigned n = *sizes == 'S' ? (c->build & CRAFTED_WIDE ? 4 : 2) : (unsigned)(*sizes - '0');
        crafted_put(c, at, *values, n);
        at += n;
    }
    return at;
}

static inline u32 crafted_tables(struct crafted *c, u32 at, const u32 *name)
{
    enum { RUN, PROGRAM, INNER, GET, MAIN, MOVE, FREE, APP, NONE };
    u32 next = at + 24;
    crafted_put(c, at + 6, c->build & CRAFTED_WIDE ? 1 : 0, 1);
    crafted_put(c, at + 8, 1ull | 1ull << 1 | 1ull << 2 | 1ull << 6 | 1ull << 0x20 | 1ull << 0x29, 8);
    static const u32 rows[] = {1, 2, 4, 4, 1, 2};
    for (u32 i = 0; i < 6; i++, next += 4)
        crafted_put(c, next, rows[i], 4);
    next = crafted_row(c, next, "2S222", (u32[]){0, name[APP], 1, 0, 0});
    for (u32 i = 0; i < 2; i++)
        next = crafted_row(c, next, "2SS", (u32[]){6, name[RUN], name[APP]});
    next = crafted_row(c, next, "4SS222", (u32[]){0, name[NONE], name[NONE], 0, 1, 1});
    next = crafted_row(c, next, "4SS222", (u32[]){1, name[PROGRAM], name[APP], 0, 1, 1});
    next = crafted_row(c, next, "4SS222", (u32[]){2, name[INNER], name[NONE], 0, 1, 2});
    next = crafted_row(c, next, "4SS222", (u32[]){2, name[GET], name[NONE], 0, 1, 3});
    static const u32 methods[] = {MAIN, RUN, MOVE, FREE};
    for (u32 i = 0; i < 4; i++)
        next = crafted_row(c, next, "422S22", (u32[]){0x2050, 0, 6, name[methods[i]], 1, 1});
    next = crafted_row(c, next, "4222242SS", (u32[]){0x8004, 1, 0, 0, 0, 0, 0, name[APP], 0});
    next = crafted_row(c, next, "22", (u32[]){3, 2});
    return crafted_row(c, next, "22", (u32[]){4, 2});
}

static inline void crafted_metadata(struct crafted *c)
{
    static const char *const texts[] = {"Run", "Program", "Inner", "<Get>d__7", "Main", "MoveNext", "free", "App", ""};
    u32 name[9], next = 1;
    u32 section = CRAFTED_IMAGE + (c->build & CRAFTED_LOADED ? CRAFTED_RVA : CRAFTED_RAW);
    u32 root = section + 0x80, header = root + 20;
    crafted_put(c, section, 72, 4);
    crafted_put(c, section + 8, CRAFTED_RVA + 0x80, 4);
    crafted_put(c, root, 0x424a5342, 4);
    crafted_put(c, root + 12, 4, 4);
    memcpy(c->bytes + root + 16, "v4", 3);
    crafted_put(c, header + 2, 2, 2);
    c->strings = root + 0x400;
    for (u32 i = 0; i < 9; next += (u32)strlen(texts[i++]) + 1) {
        name[i] = *texts[i] ? next : 0;
        strcpy((char *)c->bytes + c->strings + next, texts[i]);
    }
    crafted_put(c, header + 4, 0x100, 4);
    memcpy(c->bytes + header + 12, "#~", 3);
    crafted_put(c, header + 16, 0x400, 4);
    crafted_put(c, header + 20, next, 4);
    memcpy(c->bytes + header + 24, "#Strings", 9);
    crafted_tables(c, root + 0x100, name);
    c->root = root;
}

static inline void crafted_image(struct crafted *c)
{
    u32 pe = CRAFTED_IMAGE + 0x40, optional = pe + 24, section = optional + 0xe0;
    crafted_put(c, CRAFTED_IMAGE, 0x5a4d, 2);
    crafted_put(c, CRAFTED_IMAGE + 0x3c, 0x40, 4);
    crafted_put(c, pe, 0x4550, 4);
    crafted_put(c, pe + 6, 1, 2);
    crafted_put(c, pe + 20, 0xe0, 2);
    crafted_put(c, optional, 0x10b, 2);
    crafted_put(c, optional + 96 + 8 * 14, CRAFTED_RVA, 4);
    crafted_put(c, section + 12, CRAFTED_RVA, 4);
    crafted_put(c, section + 16, 0x800, 4);
    crafted_put(c, section + 20, CRAFTED_RAW, 4);
    crafted_metadata(c);
}

/* ---- Methods */

static inline u32 crafted_table(struct crafted *c, u32 type)
{
    u32 table = crafted_alloc(c, 48), class = crafted_alloc(c, 32), own = table;
    crafted_put(c, table + 8, type << 8 | 5, 4);
    crafted_put(c, table + 24, c->module, 8);
    crafted_put(c, table + 32, class, 8);
    crafted_put(c, class + 16, table, 8);
    if (c->build & CRAFTED_GENERIC) {
        own = crafted_alloc(c, 48);
        memcpy(c->bytes + own, c->bytes + table, 48);
        crafted_put(c, own + 32, table + 1, 8);
    }
    return own;
}

static inline void crafted_method(struct crafted *c, u32 i, u32 type)
{
    u32 chunk = crafted_alloc(c, 24 + 64), begin = 0x100 * (i + 1), number = i + 1;
    c->table[i] = crafted_table(c, type);
    c->desc[i] = chunk + 24 + 8 * i;
    c->code[i] = CRAFTED_HEAP + begin;
    c->header[i] = crafted_alloc(c, 64);
    crafted_put(c, chunk, c->table[i], 8);
    crafted_put(c, chunk + 18, 0x8000, 2); /* a flag */
    crafted_put(c, c->desc[i], 0x5000 | number, 2);
    crafted_put(c, c->desc[i] + 2, i, 1);
    crafted_put(c, c->desc[i] + 6, i == CRAFTED_DYNAMIC ? 0x47 : 0x40, 2);
    crafted_put(c, c->code[i] - 8, c->header[i], 8);
    crafted_put(c, c->header[i] + 24, c->desc[i], 8);
    crafted_put(c, c->header[i] + 32, 2, 4);
    crafted_put(c, c->header[i] + 36, begin, 4);
    crafted_put(c, c->header[i] + 40, begin + CRAFTED_CODE / 2, 4);
    crafted_put(c, c->header[i] + 48, begin + CRAFTED_CODE / 2, 4);
    crafted_put(c, c->header[i] + 52, begin + CRAFTED_CODE, 4);
}

static inline void crafted_make(struct crafted *c, unsigned build)
{
    static const u32 types[CRAFTED_METHODS] = {2, 3, 4, 1, 1};
    memset(c, 0, sizeof(*c));
    c->build = build;
    c->top = CRAFTED_MODULE + 0x1000;
    crafted_module(c->bytes, CRAFTED_MODULE);
    crafted_describe(c);
    crafted_image(c);
    c->module = crafted_alloc(c, 64);
    crafted_put(c, c->module + 40, CRAFTED_IMAGE, 8);
    for (u32 i = 0; i < CRAFTED_METHODS; i++)
        crafted_method(c, i, types[i]);
    crafted_put(c, c->desc[CRAFTED_DYNAMIC] + 16, crafted_text(c, "IL_STUB_PInvoke"), 8);
}
