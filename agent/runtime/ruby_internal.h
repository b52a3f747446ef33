/* Shared by the files that read Ruby (runtime/ruby.h): its layout, its threads, its values and its code. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "proc/memory.h"
#include "proc/module.h"
#include "runtime/frame_reply.h"
#include "runtime/ruby.h"

/* ---- The layout: ruby_layout.c ---- */

struct ruby_lists {    /* offsets that lead to threads */
    u16 vm_main;       /* rb_vm_t.ractor.main_thread, main_thread */
    u16 thread_vm;     /* rb_thread_t.vm */
    u16 thread_ec;     /* .ec */
    u16 thread_native; /* .nt; 0: it has the native thread itself */
    u16 ec_thread;     /* rb_execution_context_t.thread_ptr */
    bool by_key;       /* threads have themselves by pthread_setspecific; else their context in a variable */
};
struct ruby_found {
    struct ruby r;
    struct ruby_lists lists;
    u64 vm; /* address of the rb_vm_t */
    u32 threads;
};
/* Fills in what depends on the version alone. 0, -ENODATA: the module is not Ruby; or -ENOTSUP. */
int ruby_layout(struct memory *m, const struct module *mod, struct ruby_found *out);

/* ---- Threads: ruby_threads.c ---- */

/* Finds the virtual machine and its threads, checks them, and fills in where threads have their contexts. 0; -EAGAIN:
 * it still starts; -ENOTSUP: they are not what they should be. */
int ruby_threads(struct memory *m, const struct module *mod, struct ruby_found *f);

/* Goes through the words of a module's variables. `use` returns true to end. */
bool ruby_each_variable(struct memory *m, const struct module *mod, bool (*use)(void *arg, u64 at, u64 value),
                        void *arg);

/* ---- Values: ruby_values.c ---- */

enum ruby_type { /* include/ruby/internal/value_type.h */
                 RUBY_CLASS = 2,
                 RUBY_MODULE = 3,
                 RUBY_STRING = 5,
                 RUBY_ARRAY = 7,
                 RUBY_HASH = 8,
                 RUBY_IMEMO = 26,
                 RUBY_ICLASS = 28,
};
enum ruby_imemo { RUBY_IMEMO_ENTRY = 6, RUBY_IMEMO_ISEQ = 7 }; /* internal/imemo.h */
#define RUBY_SINGLETON 0x1000u                                 /* flags: of a class; FL_SINGLETON of ruby 2 to 3.3 */

/* An address that a value may have. */
static inline bool ruby_may_point(u64 value)
{
    return value >= 4096 && value < 1ull << 48 && !(value & 7);
}
/* Reads the flags of an object. False: it is no value of this type. */
bool ruby_is_a(struct memory *m, u64 value, enum ruby_type type, u64 *flags);
bool ruby_is_imemo(struct memory *m, u64 value, enum ruby_imemo type);
/* Appends a string, shortened if it is long. False: it is none, or its text cannot be read. */
bool ruby_text(struct memory *m, const struct ruby_layout *l, u64 string, struct buf *out);
/* An element of an array. 0: it is none, or it has no such element. */
u64 ruby_element(struct memory *m, const struct ruby_layout *l, u64 array, u64 index);

/* ---- Symbols: ruby_symbols.c ---- */

/* Finds the symbols of the module. */
void ruby_find_symbols(struct memory *m, const struct module *mod, struct ruby_layout *l);
/* Appends the name of an ID. False: it has none. */
bool ruby_symbol(struct memory *m, const struct ruby_layout *l, u64 id, struct buf *out);

/* ---- Classes: ruby_classes.c ---- */

/* Finds out where classes have their names, by the class Object. */
void ruby_find_classes(struct memory *m, const struct module *mod, struct ruby_layout *l);
/* Appends "Class#" or "Class." for methods of a class, or nothing: it has no name. */
void ruby_class_prefix(struct memory *m, const struct ruby_layout *l, u64 class, struct buf *out);

/* ---- Code: ruby_code.c ---- */

struct ruby_code {
    u32 name, file; /* offsets in texts; name 0: it cannot be read */
    u32 cookie;
    u64 body; /* address; 0: it is implemented in C */
    u32 size; /* of its code, in words */
};

struct ruby_query { /* one request */
    struct memory *m;
    const struct ruby *r;
    struct frame_reply reply;
    struct map codes; /* what tells code apart -> 1 + index of `known` */
    VEC(struct ruby_code) known;
};

/* Reads the words that make the cookie of a body, and its code. */
bool ruby_body_words(struct memory *m, const struct xp_ruby *x, u64 body, u64 *code, u64 words[3]);
/* Reads what a pair of words is about, once. NULL: out of memory. Valid until the next call. */
const struct ruby_code *ruby_code(struct ruby_query *q, const u64 *words);
/* Tells whether that is still what it was. */
bool ruby_same_code(struct ruby_query *q, const u64 *words);
/* Tells whether an iseq has a name, and a file. */
bool ruby_iseq_sound(struct memory *m, const struct ruby *r, u64 iseq);

/* ---- Lines: ruby_lines.c ---- */

/* The line of a position in bytes; 0: it has none. */
u32 ruby_line(struct ruby_query *q, const struct ruby_code *c, u32 position);

/* ---- The process: ruby.c ---- */

/* Finds the interpreter of a process. Returns what runtime_memory_ops.attach does. */
int ruby_find(struct memory *m, struct ruby_found *out);

/* ---- What inspect says: ruby_about.c ---- */

/* See runtime_memory_ops.about. */
int ruby_about(struct memory *m, struct buf *out);
