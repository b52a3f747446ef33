/* Shared by the files that read V8 (runtime/v8.h). Addresses of objects are those without the tag, but for values of
 * fields. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "proc/memory.h"
#include "proc/module.h"
#include "runtime/frame_reply.h"
#include "runtime/v8.h"

static inline bool v8_is_number(u64 v)
{
    return !(u32)v;
}

static inline s32 v8_number(u64 v)
{
    return (s32)(v >> 32);
}

/* The address of the object that a field refers to; 0: to none. */
static inline u64 v8_object(struct memory *m, u64 at, bool *ok)
{
    u64 v = memory_u(m, at, sizeof(v), ok);
    return XP_V8_IS_OBJECT(v) && *ok ? v - XP_V8_TAG : 0;
}

/* The type of an object; ~0: it cannot be read. */
u32 v8_type(struct memory *m, const struct v8 *v, u64 object);

/* ---- The layout: v8_layout.c ---- */

/* Fills it in from what the module exports. 0; -ENODATA: it has no V8; -ENOTSUP: something is missing. */
int v8_layout(struct memory *m, const struct module *mod, struct v8 *out);

/* ---- Texts: v8_text.c ---- */

/* Where an object is: while the garbage collector moves it, it has its new address in place of its map, without a tag
 * (src/objects/map-word.h). 0: it cannot be read. */
u64 v8_now(struct memory *m, u64 object);

#define V8_MAX_TEXT 4096 /* characters of a name; longer ones are shortened */
/* Characters [from, from + most) of a string, as far as there are any, go to `use`, in pieces; they have 1 or 2 bytes
 * each. Returns false if they cannot be read, or it is none; `use` returns false to end it. */
typedef bool (*v8_use)(void *arg, const u8 *chars, size_t n, unsigned bytes);
bool v8_text_each(struct memory *m, const struct v8 *v, u64 string, u64 from, u64 most, v8_use use, void *arg);
/* Appends a string, as UTF-8, shortened if it is long. False: it is none, or cannot be read. */
bool v8_text(struct memory *m, const struct v8 *v, u64 string, struct buf *out);

/* ---- Functions: v8_function.c ---- */

struct v8_function {
    u32 name, file; /* offsets in texts; name 0: it cannot be read */
    u32 start;      /* where it begins in its script's source; V8_NOWHERE */
    u32 cookie;
    u64 script; /* 0: it has none */
    u64 shared;
    u32 kind; /* enum runtime_kind */
};
#define V8_NOWHERE UINT32_MAX

struct v8_lines {  /* of a script */
    VEC(u32) ends; /* where its lines end, ascending */
    u64 source;    /* 0: it cannot be read */
    u32 read;      /* characters that were looked at */
    u32 tries;     /* to find it, that are left */
    bool returned; /* the last one was a carriage return */
};

struct v8_query { /* one request */
    struct memory *m;
    const struct v8 *v8;
    struct frame_reply reply;
    struct map functions; /* address -> 1 + index of `known` */
    VEC(struct v8_function) known;
    struct map scripts; /* address -> 1 + index of `lines` */
    VEC(struct v8_lines) lines;
    VEC(struct v8_code) codes;
    u64 map; /* that of what instructions are in; 0: not met yet */
    /* What may still be done, whatever the process has: */
    u64 source_left; /* characters of sources */
    u64 table_left;  /* bytes of tables */
    u64 search_left; /* places where code may begin */
    u32 retries;     /* texts that were looked for once more */
};

/* Reads what makes the cookie of a function. False: it is none, or it cannot be read. */
bool v8_function_cookie(struct memory *m, const struct v8 *v, u64 shared, u32 *cookie);
/* Reads a function once. NULL: out of memory. Valid until the next call. */
const struct v8_function *v8_function(struct v8_query *q, u64 shared);

/* ---- Places: v8_places.c ---- */

#define V8_MAX_BYTES (1u << 20) /* of a table */
struct v8_bytes {               /* of an array of bytes */
    struct v8_query *q;
    u64 at, end;
};
/* False: it is none, or too long. */
bool v8_bytes_open(struct v8_query *q, u64 array, struct v8_bytes *out);
/* The next number (base 128). False: there are no more. */
bool v8_bytes_next(struct v8_bytes *t, u64 *out);

struct v8_place {
    u32 place;    /* in the source; V8_NOWHERE */
    s32 inlining; /* number of the inlined call that it is in; negative: in none */
};
/* From how V8 stores it (src/codegen/source-position.h). */
struct v8_place v8_place_of(u64 position);
/* What a table says of a position: the last entry up to there, and the one behind it. False: it cannot be read. */
bool v8_places_find(struct v8_query *q, u64 table, u64 position, struct v8_place *at, struct v8_place *next);
/* The place of a position in an array of bytecode, or in that of a function; V8_NOWHERE: it is not known. */
u32 v8_place_in(struct v8_query *q, u64 array, u64 position);
u32 v8_place(struct v8_query *q, const struct v8_function *f, u32 position);

/* ---- Lines: v8_lines.c ---- */

/* The line of a place in the source of a function; 0: it has none. */
u32 v8_line(struct v8_query *q, const struct v8_function *f, u32 place);
void v8_lines_free(struct v8_query *q);

/* ---- Machine code: v8_code.c ---- */

struct v8_code {
    u64 start; /* of its instructions */
    u32 size;
    u64 data;   /* bytecode, or what is needed to return to that */
    u64 places; /* its table */
    bool baseline;
};
/* Finds the code that has an instruction. NULL: there is none. Valid until the next call. */
const struct v8_code *v8_code_at(struct v8_query *q, u64 pc);

/* ---- Sizes of bytecodes: v8_bytecodes.c ---- */

#define V8_MAX_BYTECODES 256

/* The table of a version ("13.6.233.17"); 0: there is none. */
u32 v8_bytecodes_of(const char *version);
/* The bytes of a bytecode whose operands are 1, 2 or 4 bytes wide; 0: there is none. */
u32 v8_bytecodes_size(u32 table, u32 code, u32 width);

/* ---- v8_compiled.c ---- */

/* Adds the frames of a function (a copy: others are read meanwhile), and of what is inlined into it, at an instruction.
 * `exact`: it was interrupted there, and has called nothing. False: the code there is not that of the function. */
bool v8_compiled(struct v8_query *q, const struct v8_function *f, u64 pc, bool exact);
/* Adds a frame. */
void v8_add(struct v8_query *q, const struct v8_function *f, enum runtime_kind kind, u32 place);

/* ---- The process: v8.c ---- */

/* Finds the engine of a process. Returns what runtime_memory_ops.attach does. */
int v8_find(struct memory *m, struct v8 *out);

/* ---- What inspect says: v8_about.c ---- */

/* See runtime_memory_ops.about. */
int v8_about(struct memory *m, struct buf *out);
