/* Converts a stack to the frames that people read: root first, the process in front, inlined calls as frames of their
 * own, and a mark where frames are missing. All encoders but pprof (which has its own place for most of this) read
 * stacks through here.
 */
#pragma once
#include "profile/lookup.h"
#include "profile/profile.h"

/* What a frame is beyond enum frame_origin. */
enum frame_kind { FRAME_PROCESS = FRAME_JIT + 1, FRAME_MARK, FRAME_KINDS };

/* Found through a row that was synthesised from its callee's instructions (agent/synth), or even inferred backwards. */
#define FOUND_SYNTH    1
#define FOUND_INFERRED 2

struct frame {
    u32 name;   /* for frame_text */
    u32 module; /* string: the mapping's name; 0 for processes and marks */
    u32 file;   /* string: source file or 0 */
    u32 line;   /* 0 = unknown */
    u32 pid;    /* of a process; 0 for all others */
    u8 kind;    /* enum frame_origin or enum frame_kind */
    u8 found;   /* FOUND_*: how the frame was found, if it deserves a mark */
    bool inlined;
};
struct frames { /* reused from stack to stack; vec_free */
    struct frame *v;
    size_t n, cap;
};

/* Replaces what is in `out`. 0 or -ENOMEM. The first frame is the process; a cut stack goes on with its mark. */
int frames_of(const struct profile *p, const struct prof_stack *s, struct frames *out);
/* Never empty. */
const char *frame_text(const struct profile *p, u32 name);

/* The mark of a stack, as a name for frame_text: "[cut: SLUG]" for one whose root side is missing, "[no stack: SLUG]"
 * for one without any frame; 0 for all others. */
u32 frame_mark(const struct prof_stack *s);
/* FOUND_* of any of its frames. */
u8 stack_found(const struct profile *p, const struct prof_stack *s);
/* For output: "synthesised" or "inferred", the weaker one of a set; NULL: nothing to be said. */
const char *found_slug(u8 found);
u8 found_of_slug(const char *slug); /* 0: it is none */
char cause_class(u8 cause);         /* 'c', 'n' or 'x' */
const char *cause_slug(u8 cause);   /* for output */
const char *cause_text(u8 cause);   /* a sentence */
/* Samples of an event by how their stacks ended. */
void cause_counts(const struct profile *p, size_t event, u64 out[XP_CAUSE_COUNT]);

/* ---- A table of distinct frames ---- */

struct frame_row {
    u32 name, module, file, pid;
    u32 line_lo, line_hi; /* lines seen in it; 0 = none */
    u8 kind;
    u8 found;     /* FOUND_* of any of them */
    bool inlined; /* only if the table tells such frames apart */
};
struct frame_table {
    bool inlines; /* a function inlined into another is a row of its own */
    VEC(struct frame_row) rows;
    struct lookup index;
};
/* The frame's row, made when it is new; -1 without memory. */
s64 frame_table_add(struct frame_table *t, const struct frame *f);
void frame_table_free(struct frame_table *t);
