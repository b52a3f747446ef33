#include "profile/runtime_only.h"
#include "bpf/types.h"
#include "bpf/xprof.h"

static bool is_runtime(const struct profile *p, const struct prof_location *l)
{
    bool code = XP_IS_RUNTIME_KIND(l->word_kind);
    for (u32 i = 0; i < l->nlines && !code; i++)
        code = p->lines.v[l->first_line + i].code;
    return code;
}

/* Also why a thread waited, for which lock, and the like: that is no frame of code. */
static bool is_shown(const struct profile *p, const struct prof_location *l)
{
    return (l->word_kind >= XP_WORD_LABEL && l->word_kind < XP_WORD_KERNEL) || is_runtime(p, l);
}

void profile_runtime_only(struct profile *p)
{
    profile_reduce(p, is_runtime, is_shown);
}
