#include "profile/greenlet_frames.h"
#include "base/cleanup.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME "[greenlet]"

/* Its module for Python: _greenlet.cpython-311-x86_64-linux-gnu.so, without the underscore before greenlet 1.0. */
static bool is_library(const char *path)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    file += file[0] == '_';
    return !strncmp(file, "greenlet.", strlen("greenlet.")) && strstr(file, ".so");
}

/* Marks the mappings that are its code. Returns false: there are none, or no memory. */
static bool find_library(const struct profile *p, bool *is)
{
    bool any = false;
    for (size_t i = 0; i < p->mappings.n && is; i++)
        any |= is[i] = is_library(profile_text(p, p->mappings.v[i].name));
    return any;
}

/* Where the innermost greenlet begins: its code calls what it runs, which has functions of Python. What it does for who
 * switches is further in. Returns s->n: the stack is in none. */
static u32 beginning(const struct profile *p, const struct prof_stack *s, const bool *is)
{
    bool python = false;
    for (u32 i = 0; i < s->n; i++) {
        const struct prof_location *l = &p->locations.v[p->stack_locations.v[s->first + i]];
        python |= l->word_kind == XP_WORD_SCRIPT;
        if (python && is[l->mapping])
            return i;
    }
    return s->n;
}

/* Of a stack with the waker's on top, it is not known where that begins. */
static bool has_waker(const struct profile *p, const struct prof_stack *s, u32 from)
{
    for (u32 i = from; i < s->n; i++)
        if (p->locations.v[p->stack_locations.v[s->first + i]].origin == FRAME_WAIT)
            return true;
    return false;
}

static int add_location(struct profile *p, u32 mapping, u32 *out)
{
    u32 name = profile_string(p, NAME);
    struct prof_location as = {.mapping = mapping, .word_kind = XP_WORD_NAME};
    return name ? profile_add_location(p, name, as, out) : -ENOMEM;
}

int greenlet_frames_trim(struct profile *p)
{
    AUTO_FREE bool *is = calloc(p->mappings.n + 1, sizeof(*is));
    u32 greenlet = 0;
    if (!find_library(p, is))
        return is ? 0 : -ENOMEM;
    for (size_t i = 0; i < p->stacks.n; i++) {
        struct prof_stack *s = &p->stacks.v[i];
        u32 at = beginning(p, s, is);
        if (at == s->n || has_waker(p, s, at))
            continue;
        u32 *place = &p->stack_locations.v[s->first + at];
        if (!greenlet && add_location(p, p->locations.v[*place].mapping, &greenlet))
            return -ENOMEM;
        *place = greenlet;
        s->n = at + 1;
        s->cause = XP_CAUSE_END; /* whatever stopped it below: that is another's stack */
    }
    return 0;
}
