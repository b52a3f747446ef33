/* Questions about crafted interpreters (runtime/ruby_crafted.h), for tests. */
#pragma once
#include "runtime/ruby.h"
#include "runtime/ruby_crafted.h"
#include "runtime/crafted_test.h"

static inline struct ruby ruby_of(const struct buf *attached)
{
    struct ruby r = {0};
    crafted_said(attached, &runtime_ruby, &r, sizeof(r));
    return r;
}

/* "kind name file:line" of the frame of code, by the iseq or by its method. */
static inline const char *frame_by(const struct crafted *c, const struct buf *attached, u32 at, u32 iseq, u32 word)
{
    return frames_in(c, attached, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, at), XP_MORE_WORD(crafted_cookie(c, iseq), word * 8),
                     true);
}

static inline const char *native_frame(const struct crafted *c, const struct buf *attached, u32 entry)
{
    return frames_in(c, attached, XP_SCRIPT_WORD(XP_LANGUAGE_RUBY, entry),
                     XP_MORE_WORD(crafted_entry_cookie(c, entry), XP_RUBY_NATIVE), true);
}
