/* Questions about crafted interpreters (runtime/ruby_crafted.h), for tests. */
#pragma once
#include "base/test.h"
#include "runtime/ruby.h"
#include "runtime/ruby_crafted.h"
#include "runtime/crafted_ask.h"

static inline struct ruby ruby_of(const struct buf *attached)
{
    struct ruby r = {0};
    const void *bytes;
    if (runtime_attached(attached->data, attached->len, &bytes) == &runtime_ruby)
        memcpy(&r, bytes, sizeof(r));
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

#define CRAFT(version, libc)                          \
    AUTO_FREE struct crafted *c = malloc(sizeof(*c)); \
    AUTO_BUF struct buf a = {0};                      \
    crafted_make(c, (version), (libc));               \
    CHECK_EQ(attach(c, &a), 0)
