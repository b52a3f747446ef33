#include "profile/python_frames.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "profile/runtime_mappings.h"
#include <string.h>

#define TRAMPOLINE "py::" /* CPython's Python/perf_trampoline.c */

static bool is_python(const struct profile *p, const struct prof_location *l)
{
    return l->word_kind == XP_WORD_SCRIPT;
}

static bool is_no_trampoline(const struct profile *p, const struct prof_location *l)
{
    if (l->word_kind != XP_WORD_ANON || !l->nlines)
        return true;
    const struct prof_function *f = &p->functions.v[p->lines.v[l->first_line].function];
    return strncmp(profile_text(p, f->system_name), TRAMPOLINE, strlen(TRAMPOLINE)) != 0;
}

static bool has_python(const struct profile *p)
{
    for (size_t i = 0; i < p->mappings.n; i++)
        if (!strcmp(profile_text(p, p->mappings.v[i].name), PYTHON_MAPPING))
            return true;
    return false;
}

void python_frames_fold(struct profile *p)
{
    if (has_python(p)) /* few profiles have that, and stacks are many */
        profile_reduce(p, is_python, is_no_trampoline);
}
