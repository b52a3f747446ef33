/* Shared by the files that read PHP (runtime/php.h): its layout, its state, its functions. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "proc/memory.h"
#include "proc/module.h"
#include "runtime/frame_reply.h"
#include "runtime/php.h"

/* What is the same in all versions, in bytes from the start of the structure. */
enum {
    PHP_STRING_TYPE = 4, /* zend_string */
    PHP_CLASS_NAME = 8,  /* zend_class_entry */
    PHP_TABLE_DATA = 16, /* HashTable: arData */
    PHP_TABLE_USED = 24, /* nNumUsed (32 bits) */
    PHP_BUCKET_BYTES = 32,
    PHP_BUCKET_KEY = 24,
    PHP_USER_FUNCTION = 2, /* zend_function.type, beside XP_PHP_INTERNAL */
    PHP_EVAL_CODE = 4,
};

/* ---- The layout: php_layout.c ---- */

struct php_found {
    struct php p;
    u16 functions; /* executor_globals.function_table */
    u16 module;    /* zend_internal_function.module */
    u64 core;      /* address of the engine's own module */
    u32 modules;   /* how many there are */
};
/* Fills in all but where the state is. 0; -EAGAIN: the modules are not there yet; -ENOTSUP: it is another version. */
int php_layout(struct memory *m, u64 registry, struct php_found *out);

/* ---- The state: php_state.c ---- */

/* Finds and checks the state. 0; -ENODATA: the module has none; -EAGAIN: it is not filled in yet; -ENOTSUP: it is not
 * what it should be. */
int php_state(struct memory *m, const struct module *mod, struct php_found *f);

/* ---- Functions: php_function.c ---- */

struct php_words { /* what makes the cookie */
    u64 name, scope, prototype, file;
    u64 lines;   /* the first and the last one */
    u64 text[2]; /* of the name: its length, and how it begins */
    u8 type;
};
struct php_function { /* or the code of a file */
    u32 name, file;   /* offsets in texts; 0: it has none, or it cannot be read */
    u32 cookie;
    u8 type; /* 0: code */
};

struct php_query { /* one request */
    struct memory *m;
    const struct php *p;
    struct frame_reply reply;
    struct map functions; /* address, with XP_PHP_CODE, -> 1 + index of `known` */
    VEC(struct php_function) known;
};

/* False: it is no function, or it cannot be read. */
bool php_words(struct memory *m, const struct xp_php *x, u64 function, struct php_words *out);
/* The cookie of a function, or of code (XP_PHP_CODE). False: it is none, or it cannot be read. */
bool php_cookie(struct memory *m, const struct xp_php *x, u64 at, u32 *cookie);
/* Reads one of them once. NULL: out of memory. Valid until the next call. */
const struct php_function *php_function(struct php_query *q, u64 function);
/* Appends a zend_string up to a NUL, shortened if it is long. False: it is none, or its text cannot be read. */
bool php_text(struct memory *m, u64 string, struct buf *out);

/* ---- The process: php.c ---- */

/* Finds the engine of a process. Returns what runtime_memory_ops.attach does. */
int php_find(struct memory *m, struct php_found *out);

/* ---- What inspect says: php_about.c ---- */

/* See runtime_memory_ops.about. */
int php_about(struct memory *m, struct buf *out);
