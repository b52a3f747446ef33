#include "profile/profile.h"
#include "profile/strings.h"
#include <errno.h>
#include <string.h>

int profile_init(struct profile *p)
{
    struct strings *s;
    int r = strings_new(&s);
    if (!r)
        *p = (struct profile){.strings = s};
    return r;
}

void profile_free(struct profile *p)
{
    strings_free(&p->strings);
    vec_free(&p->mappings);
    vec_free(&p->functions);
    vec_free(&p->lines);
    vec_free(&p->locations);
    vec_free(&p->stack_locations);
    vec_free(&p->processes);
    vec_free(&p->stacks);
    vec_free(&p->comments);
    for (size_t e = 0; e < XP_MAX_EVENTS; e++)
        free(p->made[e]);
}

u32 profile_string(struct profile *p, const char *s)
{
    return strings_add(p->strings, s);
}

const char *profile_text(const struct profile *p, u32 string)
{
    return strings_text(p->strings, string);
}

int profile_add_location(struct profile *p, u32 name, struct prof_location as, u32 *out)
{
    struct prof_function *f = VEC_PUSH(&p->functions);
    struct prof_line *line = VEC_PUSH(&p->lines);
    struct prof_location *l = VEC_PUSH(&p->locations);
    if (!f || !line || !l)
        return -ENOMEM;
    *f = (struct prof_function){.name = name, .system_name = name};
    *line = (struct prof_line){.function = (u32)p->functions.n - 1};
    *l = as;
    l->first_line = (u32)p->lines.n - 1;
    l->nlines = 1;
    *out = (u32)p->locations.n - 1;
    return 0;
}

const char *profile_function(const struct profile *p, const struct prof_location *l)
{
    return l->nlines ? profile_text(p, p->functions.v[p->lines.v[l->first_line].function].name) : "";
}

size_t profile_columns(const struct profile *p, struct prof_column out[PROF_COLUMNS])
{
    size_t n = 0;
    for (u8 e = 0; e < p->nevents; e++)
        for (u8 v = 0; v < event_width(p->events[e]); v++)
            out[n++] = (struct prof_column){e, v};
    return n;
}

const struct event_value *profile_main(const struct profile *p)
{
    return p->nevents ? &p->events[0]->values[p->events[0]->main] : NULL;
}

u64 profile_main_of(const struct profile *p, const struct prof_stack *s)
{
    return p->nevents && !s->event ? s->value[p->events[0]->main] : 0;
}

const char *profile_comment(const struct profile *p, size_t i, struct buf *key)
{
    const char *text = profile_text(p, p->comments.v[i]), *value = strstr(text, ": ");
    key->len = 0;
    buf_add(key, text, value ? (size_t)(value - text) : 0);
    buf_char(key, 0);
    return value && !key->failed ? value + 2 : NULL;
}

const char *profile_title(const struct profile *p)
{
    const char *text = p->comments.n ? profile_text(p, p->comments.v[0]) : "profile";
    const char *colon = strstr(text, ": ");
    return colon ? colon + 2 : text;
}

static void reduce(struct profile *p, struct prof_stack *s, profile_choice *has, profile_choice *keeps)
{
    u32 *v = p->stack_locations.v + s->first, n = 0;
    bool any = false;
    for (u32 i = 0; i < s->n && !any; i++)
        any = has(p, &p->locations.v[v[i]]);
    for (u32 i = 0; any && i < s->n; i++)
        if (keeps(p, &p->locations.v[v[i]]))
            v[n++] = v[i];
    s->n = any ? n : s->n;
}

void profile_reduce(struct profile *p, profile_choice *has, profile_choice *keeps)
{
    for (size_t i = 0; i < p->stacks.n; i++)
        reduce(p, &p->stacks.v[i], has, keeps);
}
