/* The table of language runtimes, which know more about their own code than CFI and symbols do. Each runtime has one
 * row and a file of its own. There are two kinds of access, and a row implements what it needs of each:
 *
 *   file     a program brings tables along (Go's pclntab). Read in the parser process: recognise the file, give unwind
 *            rows for its code, name its code.
 *   process  a living process makes code (a JIT). Recognised by its samples in the agent, which holds on to what tells
 *            about it; names are read from that in the parser process.
 *
 * How the kernel side steps over a runtime's frames is a rule kind of its rows (bpf/NAME.bpf.h), or the frame pointer.
 * A new runtime: a file that fills a struct runtime, and its row in runtime.c.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "cfi/table.h"
#include <stdbool.h>
#include <stddef.h>

struct elf_file;
struct names;

/* ---- Files ---- */

struct runtime_rows {       /* of one file */
    struct table_code code; /* its rows are owned by `owner` */
    void *owner;
    void (*free)(void *owner);
};
static inline void runtime_rows_free(struct runtime_rows *r)
{
    if (r->free)
        r->free(r->owner);
    *r = (struct runtime_rows){0};
}

struct runtime_text { /* inside the file, not terminated, any bytes; len 0: unknown */
    const char *data;
    u32 len;
};
struct runtime_frame {
    struct runtime_text name;     /* as the runtime's table has it */
    struct runtime_text shown[2]; /* for people, when that is shorter: what stands before and behind "[...]" */
    struct runtime_text file;
    u32 line; /* of the pc, or of the call that was inlined; 0: unknown */
};
#define RUNTIME_MAX_FRAMES 128 /* at one pc */
struct runtime_frames {
    u64 start; /* file offset of the function's entry */
    u32 n;
    struct runtime_frame v[RUNTIME_MAX_FRAMES]; /* innermost first; the last one is the function itself */
};

struct runtime_file_ops {
    /* Recognises the file, which outlives what is opened: 0, or -ENODATA and the like. */
    int (*open)(void **out, const struct elf_file *e);
    void (*close)(void *file);
    /* Unwind rows. 0 or -errno; with any but -ENOMEM, *out has what there is all the same. */
    int (*rows)(void *file, struct runtime_rows *out);
    /* The frames at a file offset. False: it is not the runtime's code. */
    bool (*frames)(void *file, u64 offset, struct runtime_frames *out);
    bool (*is_all)(void *file);    /* all code of the file is the runtime's */
    bool (*truncated)(void *file); /* a limit was hit: some frames lack their line or inlined calls */
};

/* ---- Processes ---- */

/* What reads a map, which any container may have written, in the parser process. 0, with `use` called, or -errno. */
struct runtime_reader {
    void *ctx; /* borrowed */
    int (*read)(void *ctx, int fd, const u64 *addresses, size_t n, void (*use)(void *arg, const struct names *names),
                void *arg);
};

struct runtime_process_ops {
    /* Does the sample run through code that such a runtime made? */
    bool (*recognise)(const struct xp_sample *s);
    /* Holds on to what tells about the process, while it is there. NULL: it is gone, or no memory. On any thread. */
    void *(*open)(u32 tgid, u64 start);
    void (*close)(void *process);
    /* The processes that were opened, with the reader of their maps. 0 or -ENOMEM. */
    int (*set_new)(void **out, struct runtime_reader reader);
    void (*set_free)(void *set);
    void (*set_add)(void *set, void *process); /* takes it */
    /* Names of n ascending addresses, as name_source.anonymous says (profile/symbolize.h). -ENOENT: none known. */
    int (*set_names)(void *set, u32 tgid, u64 start, const u64 *addresses, size_t n,
                     void (*use)(void *arg, const struct names *names), void *arg);
    void (*set_age)(void *set); /* an interval ended */
};

struct runtime {
    const char *name;
    const struct runtime_file_ops *file;       /* NULL: its programs bring no tables */
    const struct runtime_process_ops *process; /* NULL: nothing is asked of its processes */
};

extern const struct runtime runtime_go, runtime_jit;

/* All rows. */
const struct runtime *const *runtimes(size_t *n);
