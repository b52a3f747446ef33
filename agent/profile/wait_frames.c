#include "profile/wait_frames.h"
#include "base/cleanup.h"
#include "profile/lookup.h"
#include "profile/wait_causes.h"
#include <string.h>

struct causes {
    struct profile *p;
    u8 *functions;           /* by location: what wait_function says; 0 for all that are not the kernel's */
    struct lookup locations; /* of causes that are there already, by name */
    u32 mapping;
    bool mapped;
};

/* Kernel frames have one line each (naming.c). */
static const char *function_name(const struct profile *p, u32 location)
{
    const struct prof_location *l = &p->locations.v[location];
    return l->nlines ? profile_text(p, p->functions.v[p->lines.v[l->first_line].function].name) : "";
}

/* All stacks share kernel functions, so each is looked at once. */
static int read_functions(struct causes *c)
{
    c->functions = calloc(c->p->locations.n + 1, 1);
    if (!c->functions)
        return -ENOMEM;
    for (u32 i = 0; i < c->p->locations.n; i++)
        if (c->p->locations.v[i].origin == FRAME_KERNEL)
            c->functions[i] = wait_function(function_name(c->p, i));
    return 0;
}

static u32 name_of(const struct causes *c, const struct wait_place *w)
{
    u8 functions[XP_MAX_KERNEL];
    const u32 *kernel = c->p->stack_locations.v + w->at + 1;
    size_t n = w->nkernel < XP_MAX_KERNEL ? w->nkernel : XP_MAX_KERNEL, named;
    for (size_t i = 0; i < n; i++)
        functions[i] = c->functions[kernel[i]];
    enum wait_cause cause = wait_decide(functions, n, w->flags, &named);
    char text[160];
    wait_text(cause, named < n ? function_name(c->p, kernel[named]) : NULL, text, sizeof(text));
    return profile_string(c->p, text);
}

static int add_mapping(struct causes *c)
{
    struct prof_mapping *m = c->mapped ? NULL : VEC_PUSH(&c->p->mappings);
    if (m) {
        *m = (struct prof_mapping){.name = profile_string(c->p, WAIT_MAPPING), .has_functions = true};
        c->mapping = (u32)c->p->mappings.n - 1;
        c->mapped = true;
    }
    return c->mapped ? 0 : -ENOMEM;
}

/* The location of a cause, made when it is new. */
static int location_of(struct causes *c, u32 name, u32 *out)
{
    struct profile *p = c->p;
    u64 hash = hash_u64(name);
    u32 row;
    for (struct probe at = lookup_start(&c->locations, hash); lookup_next(&c->locations, &at, &row);)
        if (p->functions.v[p->lines.v[p->locations.v[row].first_line].function].name == name) {
            *out = row;
            return 0;
        }
    row = (u32)p->locations.n;
    struct prof_function *f = VEC_PUSH(&p->functions);
    struct prof_line *line = VEC_PUSH(&p->lines);
    struct prof_location *l = VEC_PUSH(&p->locations);
    if (!f || !line || !l || add_mapping(c) || lookup_put(&c->locations, hash, row))
        return -ENOMEM;
    *f = (struct prof_function){.name = name, .system_name = name};
    *line = (struct prof_line){.function = (u32)p->functions.n - 1};
    *l = (struct prof_location){.mapping = c->mapping,
                                .first_line = (u32)p->lines.n - 1,
                                .nlines = 1,
                                .origin = FRAME_WAIT,
                                .word_kind = XP_WORD_WAIT};
    *out = row;
    return 0;
}

int wait_frames_add(struct profile *p, const struct wait_place *places, size_t n)
{
    if (!n)
        return 0;
    struct causes c = {.p = p};
    int r = read_functions(&c);
    for (size_t i = 0; i < n && !r; i++)
        r = location_of(&c, name_of(&c, &places[i]), &p->stack_locations.v[places[i].at]);
    free(c.functions);
    lookup_free(&c.locations);
    return r;
}
