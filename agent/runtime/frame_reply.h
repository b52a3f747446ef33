/* Builds replies in the format of dwarf/names.h for stacks of a runtime: the frames of each pair of words, and the
 * texts of all of them. What frames refer to may change while it is read, so that each pair is checked once more when
 * the reply is written.
 */
#pragma once
#include "base/buf.h"
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "dwarf/names.h"
#include "proc/memory.h"
#include "runtime/kinds.h"
#include <stdbool.h>
#include <stddef.h>

struct frame_reply {
    struct buf texts; /* failed: out of memory, whatever it was for */
    VEC(struct names_frame) frames;
    VEC(u32) first; /* of each pair; one more than there are pairs */
    bool cut;       /* a limit was reached */
};

/* Adds a text. Returns its offset; 0: it is empty, or there is no room. */
u32 frame_reply_text(struct frame_reply *r, const char *s, size_t len);
/* The same with a text that may not have been read (`ok`), or not completely, for want of memory. */
u32 frame_reply_text_of(struct frame_reply *r, const struct buf *text, bool ok);
void frame_reply_add(struct frame_reply *r, struct names_frame f);
/* Adds a frame without file. */
void frame_reply_named(struct frame_reply *r, enum runtime_kind kind, const char *name);

/* Tells whether a pair is a frame of a script in this language. */
static inline bool frame_reply_is(enum xp_language language, const u64 *pair)
{
    return XP_IS_SCRIPT(pair[0], language) && XP_WORD_KIND(pair[1]) == XP_WORD_MORE;
}
/* Of a frame that is an address: what runs there. Return addresses are behind the call. */
static inline u64 frame_reply_pc(const u64 *pair)
{
    return XP_WORD_ADDR(pair[0]) - !(pair[0] & XP_WORD_EXACT);
}

/* Tells whether a pair is about what has this cookie. The unwinder cannot read what is not in memory at that moment:
 * then its cookie is 0. */
static inline bool frame_reply_fits(u32 cookie, const u64 *pair)
{
    return XP_MORE_COOKIE(pair[1]) == cookie || !XP_MORE_COOKIE(pair[1]);
}

struct frame_reply_ops { /* of a runtime; `pair`: two words */
    void (*add)(void *query, const u64 *pair);
    /* Tells whether what owns the pair is another one by now. */
    bool (*is_gone)(void *query, const u64 *pair);
    const char *gone; /* the name of such frames, and of pairs without any */
};
/* Adds the frames of n pairs of words to r, which must be {0} and is freed, and appends the reply. A quarter of what
 * may be read of `m` is left for the second look. Returns 0 or -ENOMEM. */
int frame_reply_make(struct frame_reply *r, const struct frame_reply_ops *ops, void *query, struct memory *m,
                     const u64 *words, size_t n, struct buf *out);
