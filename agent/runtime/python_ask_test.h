/* Questions about crafted interpreters (runtime/python_crafted.h), for tests. */
#pragma once
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/names.h"
#include "runtime/python.h"
#include "runtime/python_crafted.h"
#include "runtime/runtime.h"
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

static inline struct python python_of(const struct buf *attached)
{
    struct python p = {0};
    const void *bytes;
    if (runtime_attached(attached->data, attached->len, &bytes) == &runtime_python)
        memcpy(&p, bytes, sizeof(p));
    return p;
}

static inline int names_of(const struct crafted *c, const struct buf *attached, const u64 *words, size_t n,
                           struct buf *out)
{
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
    return runtime_names(mem, attached->data, attached->len, words, n, out);
}

/* "kind name file:line" of one pair of words. */
static inline const char *frame_of(const struct crafted *c, const struct buf *attached, u64 word, u64 more)
{
    static char text[8192];
    AUTO_BUF struct buf out = {0};
    struct names v;
    const u64 words[] = {word, more};
    if (names_of(c, attached, words, 2, &out) || names_view(out.data, out.len, 1, &v) || v.first[1] != 1)
        return "failed";
    const struct names_frame *f = v.frames;
    snprintf(text, sizeof(text), "%d %s %s:%u", (int)f->start, v.strings + f->name, v.strings + f->file, f->line);
    return f->name == f->system_name ? text : "names differ";
}

#define CRAFT(version, libc)                          \
    AUTO_FREE struct crafted *c = malloc(sizeof(*c)); \
    AUTO_BUF struct buf a = {0};                      \
    crafted_make(c, (version), (libc));               \
    CHECK_EQ(attach(c, &a), 0)
