#include "profile/runtime_only.h"
#include "bpf/types.h"
#include "bpf/xprof.h"

static bool is_runtime(const struct profile *p, u32 location)
{
    const struct prof_location *l = &p->locations.v[location];
    bool code = l->word_kind == XP_WORD_JAVA || l->word_kind == XP_WORD_PYTHON;
    for (u32 i = 0; i < l->nlines && !code; i++)
        code = p->lines.v[l->first_line + i].code;
    return code;
}

/* Not a frame of code: why a thread waited, for which lock, and the like. */
static bool is_reason(const struct profile *p, u32 location)
{
    u8 kind = p->locations.v[location].word_kind;
    return kind >= XP_WORD_LABEL && kind < XP_WORD_KERNEL;
}

static void reduce(struct profile *p, struct prof_stack *s)
{
    u32 *v = p->stack_locations.v + s->first, n = 0;
    bool any = false;
    for (u32 i = 0; i < s->n; i++)
        any |= is_runtime(p, v[i]);
    for (u32 i = 0; any && i < s->n; i++)
        if (is_runtime(p, v[i]) || is_reason(p, v[i]))
            v[n++] = v[i];
    s->n = any ? n : s->n;
}

void profile_runtime_only(struct profile *p)
{
    for (size_t i = 0; i < p->stacks.n; i++)
        reduce(p, &p->stacks.v[i]);
}
