#include "profile/python_frames.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <string.h>

#define TRAMPOLINE "py::" /* CPython's Python/perf_trampoline.c */

static const struct prof_location *location(const struct profile *p, const struct prof_stack *s, u32 at)
{
    return &p->locations.v[p->stack_locations.v[s->first + at]];
}

static bool is_trampoline(const struct profile *p, const struct prof_location *l)
{
    if (l->word_kind != XP_WORD_ANON || !l->nlines)
        return false;
    const struct prof_function *f = &p->functions.v[p->lines.v[l->first_line].function];
    return !strncmp(profile_text(p, f->system_name), TRAMPOLINE, strlen(TRAMPOLINE));
}

static void fold(struct profile *p, struct prof_stack *s)
{
    u32 *v = p->stack_locations.v + s->first, n = 0;
    bool any = false;
    for (u32 i = 0; i < s->n && !any; i++)
        any = location(p, s, i)->word_kind == XP_WORD_PYTHON;
    for (u32 i = 0; any && i < s->n; i++)
        if (!is_trampoline(p, location(p, s, i)))
            v[n++] = v[i];
    s->n = any ? n : s->n;
}

void python_frames_fold(struct profile *p)
{
    for (size_t i = 0; i < p->stacks.n; i++)
        fold(p, &p->stacks.v[i]);
}
