/* Questions about crafted engines (runtime/v8_crafted.h), for tests. */
#pragma once
#include "runtime/v8.h"
#include "runtime/v8_crafted.h"
#include "runtime/crafted_test.h"

static inline struct v8 v8_of(const struct buf *attached)
{
    struct v8 v = {0};
    crafted_said(attached, &runtime_v8, &v, sizeof(v));
    return v;
}

/* What is found of an engine that has been changed. */
static inline struct v8 attached_v8(const struct crafted *c)
{
    AUTO_BUF struct buf out = {0};
    return attach(c, &out) ? (struct v8){0} : v8_of(&out);
}

/* "kind name file:line" of one pair of words. */
static inline const char *pair_name(const struct crafted *c, const struct buf *attached, u64 word, u64 more)
{
    return frames_in(c, attached, word, more, true);
}

#define NO_POSITION (~0u)

/* The same of a function that is still there. */
static inline const char *frame_of(const struct crafted *c, const struct buf *attached, u32 shared, u32 position)
{
    enum xp_v8_form form = position == NO_POSITION ? XP_V8_PLAIN : XP_V8_BYTECODE;
    return pair_name(c, attached, XP_V8_WORD(form, shared), XP_MORE_WORD(crafted_cookie(c, shared), position));
}

static inline u32 line_at(const struct crafted *c, const struct buf *attached, u32 shared, u32 position)
{
    const char *s = strrchr(frame_of(c, attached, shared, position), ':');
    return s ? (u32)atoi(s + 1) : UINT32_MAX;
}
