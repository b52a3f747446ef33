/* Questions about crafted interpreters (runtime/python_crafted.h), for tests. */
#pragma once
#include "runtime/python.h"
#include "runtime/python_crafted.h"
#include "runtime/crafted_test.h"

static inline struct python python_of(const struct buf *attached)
{
    struct python p = {0};
    crafted_said(attached, &runtime_python, &p, sizeof(p));
    return p;
}

/* "kind name file:line" of one pair of words. */
static inline const char *frame_of(const struct crafted *c, const struct buf *attached, u64 word, u64 more)
{
    return frames_in(c, attached, word, more, true);
}
