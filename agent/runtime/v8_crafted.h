/* A process with a V8, crafted for tests: bytes whose offsets are its addresses, and its mappings. It has a module that
 * exports the numbers for debuggers, a function of JavaScript with its script, scope, bytecode and table of positions,
 * and a function of the language.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "runtime/crafted_module.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { CRAFTED_18, CRAFTED_22, CRAFTED_26, CRAFTED_VERSIONS }; /* of Node.js */
struct crafted_version {
    const char *text;
    u16 shared_type, script_type, scope_type, array_type;
    u16 function_shared;
    u16 shared_name, shared_script;
    u16 array_positions;
    u16 scope_first;
    bool raw_flags; /* of scopes: no number, but bits; where such a scope begins is in front of its variables */
    bool bits;      /* in tables of positions */
};
static const struct crafted_version CRAFTED[CRAFTED_VERSIONS] = {
    {"10.2.154.26-node.36", 260, 166, 259, 190, 24, 16, 32, 32, 3, false, false},
    {"12.4.254.21-node.33", 270, 176, 269, 200, 32, 16, 32, 24, 3, false, false},
    {"14.6.202.33-node.12", 280, 186, 279, 210, 32, 24, 40, 24, 5, true, true}};

enum { CRAFTED_SHARED_DATA = 8, CRAFTED_MAP_TYPE = 12 };
enum { CRAFTED_SOURCE = 8, CRAFTED_NAME = 16, CRAFTED_LINE_OFFSET = 24 };                     /* of scripts */
enum { CRAFTED_LENGTH = 12, CRAFTED_FIRST = 16, CRAFTED_SECOND = 24 };                        /* of strings */
enum { CRAFTED_TWO, CRAFTED_CONS, CRAFTED_EXTERNAL, CRAFTED_SLICED, CRAFTED_THIN = 5 };       /* their forms, and: */
enum { CRAFTED_ONE = 8, CRAFTED_UNCACHED = 16, CRAFTED_PLAIN = 32, CRAFTED_NO_STRING = 128 }; /* bits of their types */

struct crafted {
    u8 bytes[CRAFTED_SIZE];
    const struct crafted_version *v;
    u32 top; /* of what was given out */
    u32 nsymbols;
    u32 maps[512]; /* of types */
    u32 version;
    u32 work, scope, script, array, table; /* the function of JavaScript, and what it has */
    u32 builtin;                           /* the function of the language */
};

#include "runtime/crafted_bytes.h"

/* ---- Values */

static inline u64 crafted_number(s32 v)
{
    return (u64)(u32)v << 32;
}

static inline u64 crafted_pointer(u32 object)
{
    return object + XP_V8_TAG;
}

static inline u32 crafted_map(struct crafted *c, u32 type)
{
    if (!c->maps[type]) {
        c->maps[type] = crafted_alloc(c, 16);
        crafted_put(c, c->maps[type] + CRAFTED_MAP_TYPE, type, 2);
    }
    return c->maps[type];
}

static inline u32 crafted_object(struct crafted *c, u32 type, u32 size)
{
    u32 map = crafted_map(c, type), at = crafted_alloc(c, size);
    crafted_put(c, at, crafted_pointer(map), 8);
    return at;
}

/* ---- Strings. `type`: the form and CRAFTED_ONE, or not. */

static inline u32 crafted_string(struct crafted *c, u32 type, u32 length, u32 size)
{
    u32 at = crafted_object(c, type | CRAFTED_PLAIN, CRAFTED_FIRST + size);
    crafted_put(c, at + CRAFTED_LENGTH, length, 4);
    return at;
}

static inline u32 crafted_one(struct crafted *c, const void *s, u32 n)
{
    u32 at = crafted_string(c, CRAFTED_ONE, n, n);
    memcpy(c->bytes + at + CRAFTED_FIRST, s, n);
    return at;
}

static inline u32 crafted_text(struct crafted *c, const char *s)
{
    return crafted_one(c, s, (u32)strlen(s));
}

static inline u32 crafted_two(struct crafted *c, const u16 *s, u32 n)
{
    u32 at = crafted_string(c, CRAFTED_TWO, n, 2 * n);
    memcpy(c->bytes + at + CRAFTED_FIRST, s, 2 * (size_t)n);
    return at;
}

/* One that has its text elsewhere. */
static inline u32 crafted_other(struct crafted *c, u32 type, u32 length, u64 first, u64 second)
{
    u32 at = crafted_string(c, type, length, 16);
    crafted_put(c, at + CRAFTED_FIRST, first, 8);
    crafted_put(c, at + CRAFTED_SECOND, second, 8);
    return at;
}

static inline u32 crafted_length(const struct crafted *c, u32 string)
{
    return (u32)crafted_get(c, string + CRAFTED_LENGTH);
}

static inline u32 crafted_cons(struct crafted *c, u32 left, u32 right)
{
    return crafted_other(c, CRAFTED_CONS | CRAFTED_ONE, crafted_length(c, left) + crafted_length(c, right),
                         crafted_pointer(left), crafted_pointer(right));
}

/* ---- Scopes */

struct crafted_scope {
    u32 locals;
    bool class_variable;
    u32 has_name;       /* 0 to 3: how the variable with the name of the function is kept, if there is one */
    u32 name, inferred; /* strings; 0: none */
    s32 start;
};

/* Names and places of variables: from 75 on, the names are in a table elsewhere. */
static inline u64 crafted_locals(struct crafted *c, u64 at, u32 locals)
{
    u32 words = locals < 75 ? 2 * locals : locals + 1, name = crafted_text(c, "local");
    for (u32 i = 0; i < words; i++, at += 8)
        crafted_put(c, at, i < locals && locals < 75 ? crafted_pointer(name) : crafted_number(0), 8);
    return at;
}

static inline u32 crafted_scope(struct crafted *c, struct crafted_scope s)
{
    u32 flags = (s.class_variable ? 1 << 10 : 0) | s.has_name << 12 | (s.inferred ? 1 << 14 : 0) | 5;
    u32 object = crafted_object(c, c->v->scope_type, 8 * (2 * s.locals + 16));
    u64 slots = object + 8, at = crafted_locals(c, slots + 8ull * c->v->scope_first, s.locals);
    crafted_put(c, slots, c->v->raw_flags ? flags : crafted_number((s32)flags), 8);
    crafted_put(c, slots + 16, crafted_number((s32)s.locals), 8);
    at += s.class_variable ? 8 : 0;
    if (s.has_name) {
        crafted_put(c, at, s.name ? crafted_pointer(s.name) : crafted_number(0), 8);
        at += 16;
    }
    if (s.inferred) {
        crafted_put(c, at, crafted_pointer(s.inferred), 8);
        at += 8;
    }
    crafted_put(c, c->v->raw_flags ? slots + 24 : at, crafted_number(s.start), 8);
    return object;
}

/* ---- Positions */

struct crafted_position {
    u32 bytecode, place;
    bool statement;
};

static inline u32 crafted_base128(u8 *to, u64 v)
{
    u32 n = 0;
    for (; v > 0x7f; v >>= 7)
        to[n++] = (u8)(v | 0x80);
    to[n++] = (u8)v;
    return n;
}

static inline u64 crafted_zigzag(s64 v)
{
    return (u64)v << 1 ^ (u64)(v >> 63);
}

static inline u32 crafted_table(struct crafted *c, const struct crafted_position *p, u32 n)
{
    u8 bytes[256];
    u32 len = 0;
    s64 before = -1, place = 0;
    for (u32 i = 0; i < n; i++) {
        s64 step = p[i].bytecode - before, now = 2 * (1 + (s64)p[i].place);
        u64 first =
            c->v->bits ? (u64)step << 2 | (p[i].statement ? 3 : 2) : crafted_zigzag(p[i].statement ? step : -step - 1);
        len += crafted_base128(bytes + len, first);
        len += crafted_base128(bytes + len, crafted_zigzag(now - place));
        before = p[i].bytecode;
        place = now;
    }
    u32 at = crafted_object(c, 150, 16 + len);
    crafted_put(c, at + 8, crafted_number((s32)len), 8);
    memcpy(c->bytes + at + 16, bytes, len);
    return at;
}

static inline u32 crafted_array(struct crafted *c, u32 table)
{
    u32 at = crafted_object(c, c->v->array_type, 96);
    crafted_put(c, at + c->v->array_positions, crafted_pointer(table), 8);
    return at;
}

/* ---- Functions */

static inline u32 crafted_script(struct crafted *c, u32 name, u32 source, s32 line_offset)
{
    u32 at = crafted_object(c, c->v->script_type, 128);
    crafted_put(c, at + CRAFTED_SOURCE, crafted_pointer(source), 8);
    crafted_put(c, at + CRAFTED_NAME, crafted_pointer(name), 8);
    crafted_put(c, at + CRAFTED_LINE_OFFSET, crafted_number(line_offset), 8);
    return at;
}

/* `name`: a scope or a string. `data`, `script`: values. */
static inline u32 crafted_function(struct crafted *c, u32 name, u64 data, u64 script)
{
    u32 at = crafted_object(c, c->v->shared_type, 80);
    crafted_put(c, at + CRAFTED_SHARED_DATA, data, 8);
    crafted_put(c, at + c->v->shared_name, crafted_pointer(name), 8);
    crafted_put(c, at + c->v->shared_script, script, 8);
    crafted_put(c, at + c->v->shared_script + 8u, at * 0x10001000100ull, 8);
    crafted_put(c, at + c->v->shared_script + 16u, crafted_number((s32)at), 8);
    return at;
}

static inline u32 crafted_cookie(const struct crafted *c, u32 shared)
{
    u64 w[3];
    memcpy(w, c->bytes + shared + c->v->shared_script, sizeof(w));
    return XP_V8_COOKIE(w);
}

/* ---- All of it */

static inline void crafted_export(struct crafted *c, const char *name, s32 v)
{
    char symbol[96];
    u32 at = crafted_alloc(c, 4);
    snprintf(symbol, sizeof(symbol), "v8dbg_%s", name);
    crafted_module_export(c->bytes, CRAFTED_MODULE, &c->nsymbols, symbol, at);
    crafted_put(c, at, (u32)v, 4);
}

/* What all versions have, and what each calls in its own way. */
static inline void crafted_numbers(struct crafted *c)
{
    static const char *const names[CRAFTED_VERSIONS][6] = {
        {"off_fp_context_or_frame_type", "class_JSFunction__shared__SharedFunctionInfo",
         "class_SharedFunctionInfo__script_or_debug_info__HeapObject",
         "class_SharedFunctionInfo__name_or_scope_info__Object", "class_Script__name__Object",
         "class_Script__source__Object"},
        {"off_fp_context_or_frame_type", "class_JSFunction__shared__Tagged_SharedFunctionInfo_",
         "class_SharedFunctionInfo__script__Tagged_HeapObject_",
         "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", "class_Script__name__Tagged_Object_",
         "class_Script__source__Tagged_Object_"},
        {"off_fp_context", "class_JSFunction__shared__Tagged_SharedFunctionInfo_",
         "class_SharedFunctionInfo__raw_script__Tagged_Object_",
         "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_", "class_Script__name__Tagged_Object_",
         "class_Script__source__Tagged_Object_"}};
    const s32 values[6] = {-8,           c->v->function_shared, c->v->shared_script, c->v->shared_name,
                           CRAFTED_NAME, CRAFTED_SOURCE};
    for (unsigned i = 0; i < 6; i++)
        crafted_export(c, names[c->v - CRAFTED][i], values[i]);
    crafted_export(c, "off_fp_function", -16);
    crafted_export(c, "class_Map__instance_type__uint16_t", CRAFTED_MAP_TYPE);
    crafted_export(c, "type_BytecodeArray__BYTECODE_ARRAY_TYPE", c->v->array_type);
    crafted_export(c, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", c->v->shared_type);
    crafted_export(c, "type_Script__SCRIPT_TYPE", c->v->script_type);
    crafted_export(c, "type_ScopeInfo__SCOPE_INFO_TYPE", c->v->scope_type);
    crafted_export(c, "scopeinfo_idx_first_vars", c->v->scope_first);
    if (c->v == &CRAFTED[CRAFTED_18]) {
        crafted_export(c, "class_SharedFunctionInfo__function_data__Object", CRAFTED_SHARED_DATA);
        crafted_export(c, "class_BytecodeArray__data__uintptr_t", 56);
        crafted_export(c, "class_Script__line_ends__Object", 56);
        crafted_export(c, "IsNotStringMask", -128);
        crafted_export(c, "class_String__length__int32_t", CRAFTED_LENGTH);
        crafted_export(c, "class_SeqOneByteString__chars__char", CRAFTED_FIRST);
        crafted_export(c, "off_fp_bytecode_array", -32);
        crafted_export(c, "off_fp_bytecode_offset", -40);
    } else {
        crafted_export(c, "class_BytecodeArray__length__SMI", 8);
    }
}

/* The first character of its lines is number 0, 4, 8, 14 and 19. */
#define CRAFTED_LINES "one\ntwo\nthree\nfour\nfive\n"

/* `work` begins on line 2. Its bytecode is that of line 3 from 0 on, of 4 from 4 on, of 5 from 300 on, and of 3 from
 * 306 on. */
static inline void crafted_make(struct crafted *c, unsigned version)
{
    static const struct crafted_position positions[] = {{0, 8, true}, {4, 14, false}, {300, 19, true}, {306, 8, false}};
    *c = (struct crafted){.v = &CRAFTED[version], .top = 0x2000};
    crafted_module(c->bytes, CRAFTED_MODULE);
    crafted_numbers(c);
    c->version = crafted_alloc(c, 8 + 64);
    crafted_put(c, c->version, c->version + 8, 8);
    strcpy((char *)c->bytes + c->version + 8, c->v->text);
    crafted_module_export(c->bytes, CRAFTED_MODULE, &c->nsymbols, "_ZN2v88internal7Version15version_string_E",
                          c->version);
    c->table = crafted_table(c, positions, 4);
    c->array = crafted_array(c, c->table);
    c->script = crafted_script(c, crafted_text(c, "/app/main.js"), crafted_text(c, CRAFTED_LINES), 0);
    c->scope = crafted_scope(c, (struct crafted_scope){.has_name = 1, .name = crafted_text(c, "work"), .start = 4});
    c->work = crafted_function(c, c->scope, crafted_pointer(c->array), crafted_pointer(c->script));
    c->builtin = crafted_function(c, crafted_text(c, "map"), crafted_number(7), crafted_number(0));
}
