/* Questions about crafted engines (runtime/php_crafted.h), for tests. */
#pragma once
#include "runtime/php.h"
#include "runtime/php_crafted.h"
#include "runtime/crafted_test.h"

static inline struct php php_of(const struct buf *attached)
{
    struct php p = {0};
    crafted_said(attached, &runtime_php, &p, sizeof(p));
    return p;
}

/* "kind name file:line" of one function. */
static inline const char *frame_of(const struct crafted *c, const struct buf *attached, u32 function, u32 position)
{
    return frames_in(c, attached, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, crafted_address(c, function)),
                     XP_MORE_WORD(crafted_cookie(c, function), position), true);
}
