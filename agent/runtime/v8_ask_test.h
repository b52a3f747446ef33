/* Questions about crafted engines (runtime/v8_crafted.h), for tests. */
#pragma once
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/names.h"
#include "runtime/runtime.h"
#include "runtime/v8.h"
#include "runtime/v8_crafted.h"
#include <stdlib.h>

static inline int attach(const struct crafted *c, struct buf *out)
{
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    AUTO_CLOSE int maps = fs_sealed_memfd("maps", CRAFTED_MAPS, strlen(CRAFTED_MAPS));
    return runtime_attach(mem, maps, out);
}

static inline int attach_alone(const struct crafted *c)
{
    AUTO_BUF struct buf out = {0};
    return attach(c, &out);
}

static inline struct v8 v8_of(const struct buf *attached)
{
    struct v8 v = {0};
    const void *bytes;
    if (runtime_attached(attached->data, attached->len, &bytes) == &runtime_v8)
        memcpy(&v, bytes, sizeof(v));
    return v;
}

/* What is found of an engine that has been changed. */
static inline struct v8 attached_v8(const struct crafted *c)
{
    AUTO_BUF struct buf out = {0};
    return attach(c, &out) ? (struct v8){0} : v8_of(&out);
}

static inline int names_of(const struct crafted *c, const struct buf *attached, const u64 *words, size_t n,
                           struct buf *out)
{
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    return runtime_names(mem, attached->data, attached->len, words, n, out);
}

/* "kind name file:line" of one pair of words. */
static inline const char *pair_name(const struct crafted *c, const struct buf *attached, u64 word, u64 more)
{
    static char text[16384];
    AUTO_BUF struct buf out = {0};
    struct names v;
    const u64 words[] = {word, more};
    if (names_of(c, attached, words, 2, &out) || names_view(out.data, out.len, 1, &v) || v.first[1] != 1)
        return "failed";
    const struct names_frame *f = v.frames;
    snprintf(text, sizeof(text), "%d %s %s:%u", (int)f->start, v.strings + f->name, v.strings + f->file, f->line);
    return f->name == f->system_name ? text : "names differ";
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

#define CRAFT(version)                                \
    AUTO_FREE struct crafted *c = malloc(sizeof(*c)); \
    AUTO_BUF struct buf a = {0};                      \
    crafted_make(c, (version));                       \
    CHECK_EQ(attach(c, &a), 0)
