/* Questions about crafted interpreters (runtime/python_crafted.h), for tests. */
#pragma once
#include "base/test.h"
#include "runtime/python.h"
#include "runtime/python_crafted.h"
#include "runtime/crafted_ask.h"

static inline struct python python_of(const struct buf *attached)
{
    struct python p = {0};
    const void *bytes;
    if (runtime_attached(attached->data, attached->len, &bytes) == &runtime_python)
        memcpy(&p, bytes, sizeof(p));
    return p;
}

/* "kind name file:line" of one pair of words. */
static inline const char *frame_of(const struct crafted *c, const struct buf *attached, u64 word, u64 more)
{
    return frames_in(c, attached, word, more, true);
}

#define CRAFT(version, libc)                          \
    AUTO_FREE struct crafted *c = malloc(sizeof(*c)); \
    AUTO_BUF struct buf a = {0};                      \
    crafted_make(c, (version), (libc));               \
    CHECK_EQ(attach(c, &a), 0)
