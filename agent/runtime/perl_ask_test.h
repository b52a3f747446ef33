/* Questions about crafted interpreters (runtime/perl_crafted.h), for tests. */
#pragma once
#include "runtime/perl.h"
#include "runtime/perl_crafted.h"
#include "runtime/crafted_test.h"

static inline struct perl perl_of(const struct buf *attached)
{
    struct perl p = {0};
    crafted_said(attached, &runtime_perl, &p, sizeof(p));
    return p;
}

/* "kind name file:line" of a sub at a position. */
static inline const char *frame_of(const struct crafted *c, const struct buf *attached, u32 sub, u32 position)
{
    return frames_in(c, attached, XP_SCRIPT_WORD(XP_LANGUAGE_PERL, c->cv[sub]),
                     XP_MORE_WORD(crafted_cookie(c, sub), position), true);
}

static inline u32 at_cop(const struct crafted *c, u32 sub, u32 cop)
{
    return XP_PERL_AT(((s64)cop - (s64)c->cv[sub]) / 8);
}
