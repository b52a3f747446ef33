/* Shared by the files that read CPython (runtime/python.h): its layout, its threads, its code objects. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "proc/memory.h"
#include "proc/module.h"
#include "runtime/frame_reply.h"
#include "runtime/python.h"

/* ---- The layout: python_layout.c ---- */

struct python_lists { /* offsets that lead to thread states */
    u16 interpreters; /* _PyRuntimeState.interpreters.head */
    u16 interpreter_next, threads;
    u16 state_next, state_interpreter;
};
struct python_found {
    struct python p;
    struct python_lists lists;
    u64 runtime; /* address of _PyRuntime */
    u32 interpreters, threads;
};
/* Fills in all but the numbers, `tls`, `slot` and `kind_shift`. 0 or -ENOTSUP. */
int python_layout(struct memory *m, const struct module *mod, struct python_found *out);

/* ---- Threads: python_threads.c ---- */

/* Finds the threads, checks them, and fills in what is missing. 0; -EAGAIN: no thread runs Python yet; -ENOTSUP: they
 * are not what they should be. */
int python_threads(struct memory *m, struct python_found *f);

/* ---- Code objects: python_code.c ---- */

struct python_code {
    u32 name, file; /* offsets in texts; name 0: it cannot be read */
    u32 first;      /* line */
    u32 size;       /* bytes of code */
    u64 table;      /* address of the table of lines */
    u32 table_size;
    u32 cookie;
};

struct python_query { /* one request */
    struct memory *m;
    const struct python *p;
    struct frame_reply reply;
    struct map codes; /* address of a code object -> 1 + index of `known` */
    VEC(struct python_code) known;
    u64 line_bytes; /* of tables that may still be read */
};

/* Reads what makes the cookie of a code object. False: it is none, or it cannot be read. */
bool python_code_words(struct memory *m, const struct python *p, u64 code, u64 words[XP_PYTHON_WORDS]);
/* Reads a code object once. NULL: out of memory. Valid until the next call. */
const struct python_code *python_code(struct python_query *q, u64 code);
/* Appends a str, shortened if it is long. False: it is none, or its text cannot be read. */
bool python_text(struct memory *m, const struct python_layout *l, u64 str, struct buf *out);
/* Finds out where str objects have their kind. False: this is none. */
bool python_kind_shift(struct memory *m, struct python_layout *l, u64 str);
/* The size of a bytes object. False: it is none. */
bool python_bytes(struct memory *m, const struct python_layout *l, u64 bytes, u32 *size);

/* ---- Lines: python_lines.c ---- */

/* The line of a position; 0: it has none. */
u32 python_line(struct python_query *q, u64 at, const struct python_code *c, s32 position);

/* ---- The process: python.c ---- */

/* Finds the interpreter of a process. Returns what runtime_memory_ops.attach does. */
int python_find(struct memory *m, struct python_found *out);

/* ---- What inspect says: python_about.c ---- */

/* See runtime_memory_ops.about. */
int python_about(struct memory *m, struct buf *out);
