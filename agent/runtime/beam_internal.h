/* Shared by the files that read Erlang's virtual machine (runtime/beam.h). */
#pragma once
#include "base/vec.h"
#include "proc/memory.h"
#include "proc/module.h"
#include "runtime/beam.h"

#define BEAM_MAX_MODULES  65536u
#define BEAM_MAX_BYTES    (32u << 20) /* of what is known of one module */
#define BEAM_MAX_FUNCTION 1024        /* bytes of a name */

/* ---- The layout: beam_layout.c ---- */

/* Fills it in. 0; -ENODATA: it is no BEAM with a JIT; -EAGAIN: it still starts; -ENOTSUP: something is missing. */
int beam_layout(struct memory *m, const struct module *mod, struct beam *out);

/* ---- The list of modules: beam_modules.c ---- */

struct beam_module { /* an entry of the list, or a group of stubs that all code shares */
    u64 entry;       /* where it is */
    u64 base, end;   /* of its code */
    u64 text, bytes; /* what is known of it */
};

struct beam_walk { /* along the list; {0} at first, with the first entry */
    u64 next;
    u32 steps;
};
/* The start of the list. False: it cannot be read, or is empty. */
bool beam_walk_start(struct memory *m, u64 descriptor, struct beam_walk *out);
/* Goes to the next module. False: there are no more, or too many. */
bool beam_walk_next(struct memory *m, struct beam_walk *w, struct beam_module *out);

/* Tells whether the entry still is the same. */
bool beam_module_is_there(struct memory *m, const struct beam_module *mod);

struct beam_text { /* may have any bytes; not terminated */
    const char *data;
    size_t len;
};
struct beam_place {
    struct beam_text function, file;
    u64 start, end; /* addresses: of the function's code */
    u32 line;       /* 0: unknown */
};
/* What is known of a module, in memory of ours. */
struct beam_table {
    u64 base;
    char *bytes; /* owned */
    size_t len;
};
/* Reads it. 0, -EBADMSG or -ENOMEM. */
int beam_table_read(struct memory *m, const struct beam_module *mod, struct beam_table *out);
void beam_table_free(struct beam_table *t);
/* Finds the function at an address. False: there is none. */
bool beam_table_find(const struct beam_table *t, u64 pc, struct beam_place *out);
/* Finds a function by its name. */
bool beam_table_named(const struct beam_table *t, const char *name, struct beam_place *out);
