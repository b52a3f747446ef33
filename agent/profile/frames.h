/* Converts a stack to frames for display: root first, starting with the process, inlined calls as separate frames, and
 * a mark where frames are missing. All encoders use this module, except pprof, whose format represents most of this
 * itself.
 */
#pragma once
#include "profile/lookup.h"
#include "profile/profile.h"

/* Kinds of frames in addition to enum frame_origin. */
enum frame_kind { FRAME_PROCESS = FRAME_WAIT + 1, FRAME_MARK, FRAME_KINDS };

/* Found through a row that was synthesised from its callee's instructions (agent/synth), or inferred backwards. */
#define FOUND_SYNTH    1
#define FOUND_INFERRED 2

struct frame {
    u32 name;   /* for frame_text */
    u32 module; /* string: name of the mapping; 0 for processes and marks */
    u32 file;   /* string: source file or 0 */
    u32 line;   /* 0 = unknown */
    u32 pid;    /* of a process; 0 for all others */
    u64 into;   /* bytes from the entry of the function (prof_location.into) */
    u8 kind;    /* enum frame_origin or enum frame_kind */
    u8 found;   /* FOUND_*: how the frame was found; 0 in general */
    u8 code;    /* enum runtime_kind; 0: it is not code of a runtime */
    bool inlined;
};
struct frames { /* reused for each stack; release with vec_free */
    struct frame *v;
    size_t n, cap;
};

/* Replaces the contents of `out`. The first frame is the process, followed by the mark if the stack is cut. Returns 0
 * or -ENOMEM. */
int frames_of(const struct profile *p, const struct prof_stack *s, struct frames *out);
/* Returns the text of a name; never empty. */
const char *frame_text(const struct profile *p, u32 name);

/* Returns the mark of a stack, as a name for frame_text: "[cut: SLUG]" if frames towards the root are missing, "[no
 * stack: SLUG]" if there are no frames, "[stack not taken]" if those of the user are missing for that reason; 0 for all
 * others. */
u32 frame_mark(const struct prof_stack *s);
/* Returns FOUND_* of all its frames, combined. */
u8 stack_found(const struct profile *p, const struct prof_stack *s);
/* Returns what kind of code the innermost frame of a runtime is (enum runtime_kind); 0: there is none. */
u8 stack_code(const struct profile *p, const struct prof_stack *s);
/* Returns what the thread waited for, as a string of the profile: "[disk]"; 0: the stack is not of a wait. */
u32 stack_wait(const struct profile *p, const struct prof_stack *s);
/* For output: "synthesised" or "inferred", the less reliable one of a set; NULL: neither. */
const char *found_slug(u8 found);
u8 found_of_slug(const char *slug); /* 0: not a slug */
char cause_class(u8 cause);         /* 'c', 'n' or 'x' */
const char *cause_slug(u8 cause);   /* for output */
const char *cause_text(u8 cause);   /* a sentence */
struct cause_sum {
    u64 count, value;
};
/* Sums up the samples of an event, and their values, by the end of their stacks. */
void cause_sums(const struct profile *p, struct prof_column column, struct cause_sum out[XP_CAUSE_COUNT]);

/* ---- A table of distinct frames ---- */

struct frame_row {
    u32 name, module, file, pid;
    u32 line_lo, line_hi; /* range of its lines; 0: none */
    u8 kind;
    u8 found;     /* FOUND_* of all frames, combined */
    u16 codes;    /* bit k: there is a frame of enum runtime_kind k */
    bool inlined; /* only if `inlines` is set */
};
struct frame_table {
    bool inlines; /* inlined functions have separate rows */
    VEC(struct frame_row) rows;
    struct lookup index;
};
/* Returns the row of the frame, adding it if it is new; -1 if out of memory. */
s64 frame_table_add(struct frame_table *t, const struct frame *f);
void frame_table_free(struct frame_table *t);
