/* Questions about crafted engines (runtime/php_crafted.h), for tests. */
#pragma once
#include "base/test.h"
#include "runtime/php.h"
#include "runtime/php_crafted.h"
#include "runtime/crafted_ask.h"

static inline struct php php_of(const struct buf *attached)
{
    struct php p = {0};
    const void *bytes;
    if (runtime_attached(attached->data, attached->len, &bytes) == &runtime_php)
        memcpy(&p, bytes, sizeof(p));
    return p;
}

/* "kind name file:line" of one function. */
static inline const char *frame_of(const struct crafted *c, const struct buf *attached, u32 function, u32 position)
{
    return frames_in(c, attached, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, crafted_address(c, function)),
                     XP_MORE_WORD(crafted_cookie(c, function), position), true);
}

#define CRAFT(version, threads)                       \
    AUTO_FREE struct crafted *c = malloc(sizeof(*c)); \
    AUTO_BUF struct buf a = {0};                      \
    crafted_make(c, (version), (threads));            \
    CHECK_EQ(attach(c, &a), 0)
