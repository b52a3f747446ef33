#include "profile/told_stacks.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <string.h>

/* NULL: the frame is of another kind. */
static const struct prof_location *told(const struct profile *p, const struct prof_stack *s, u32 at)
{
    const struct prof_location *l = &p->locations.v[p->stack_locations.v[s->first + at]];
    return l->word_kind == XP_WORD_TOLD && l->nlines ? l : NULL;
}

static bool is_of_runtime(const struct profile *p, const struct prof_location *l)
{
    const char *name = profile_function(p, l);
    return !strncmp(name, "runtime.", 8) || !strncmp(name, "internal/runtime/", 17);
}

static void trim(const struct profile *p, struct prof_stack *s)
{
    const struct prof_location *l;
    u32 skip = 0;
    while (skip < s->n && (l = told(p, s, skip)) && is_of_runtime(p, l))
        skip++;
    if (skip < s->n) {
        s->first += skip;
        s->n -= skip;
    }
    l = s->n > 1 ? told(p, s, s->n - 1) : NULL;
    if (l && !strcmp(profile_function(p, l), "runtime.goexit"))
        s->n--;
}

void told_stacks_trim(struct profile *p)
{
    for (size_t i = 0; i < p->stacks.n; i++)
        if (p->stacks.v[i].n && told(p, &p->stacks.v[i], 0))
            trim(p, &p->stacks.v[i]);
}
