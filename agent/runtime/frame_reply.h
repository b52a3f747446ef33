/* Builds replies in the format of dwarf/names.h for stacks of a runtime: the frames of each pair of words, and the
 * texts of all of them. What frames refer to may change while it is read, so that each pair is checked once more when
 * the reply is written.
 */
#pragma once
#include "base/buf.h"
#include "base/vec.h"
#include "bpf/types.h"
#include "dwarf/names.h"
#include "runtime/kinds.h"
#include <stdbool.h>
#include <stddef.h>

struct frame_reply {
    struct buf texts; /* failed: out of memory, whatever it was for */
    VEC(struct names_frame) frames;
    VEC(u32) first; /* of each pair; one more than there are pairs */
    bool cut;       /* a limit was reached */
};

/* Returns 0 or -ENOMEM. */
int frame_reply_begin(struct frame_reply *r, size_t pairs);
void frame_reply_free(struct frame_reply *r);

/* Adds a text. Returns its offset; 0: it is empty, or there is no room. */
u32 frame_reply_text(struct frame_reply *r, const char *s, size_t len);
/* The frames that follow belong to the next pair. False: there are too many frames already. */
bool frame_reply_pair(struct frame_reply *r);
void frame_reply_add(struct frame_reply *r, struct names_frame f);
/* Adds a frame without file. */
void frame_reply_named(struct frame_reply *r, enum runtime_kind kind, const char *name);

/* Tells whether the frames of pair i no longer belong to its words. */
typedef bool (*frame_reply_is_gone)(void *arg, size_t i);
/* Appends the reply. A pair that has no frames, or whose frames are gone, gets one frame with the name `gone`. Returns
 * 0 or -ENOMEM. */
int frame_reply_write(struct frame_reply *r, const char *gone, frame_reply_is_gone is_gone, void *arg, struct buf *out);
