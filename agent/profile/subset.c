#include "profile/subset.h"
#include "base/cleanup.h"
#include "profile/strings.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the whole -> rows of the part, + 1; 0: not there yet. */
struct copy {
    const struct profile *from;
    struct profile *to;
    u32 *strings, *mappings, *functions, *locations, *processes;
    u32 *process_locations; /* the frames that stand for processes, by row of from->processes */
    bool failed;
};

static u32 *rows(struct copy *c, size_t n)
{
    u32 *r = calloc(n + 1, sizeof(*r));
    c->failed |= !r;
    return r;
}

static void copy_free(struct copy *c)
{
    free(c->strings);
    free(c->mappings);
    free(c->functions);
    free(c->locations);
    free(c->processes);
    free(c->process_locations);
}

static u32 string(struct copy *c, u32 s)
{
    if (!c->strings[s])
        c->strings[s] = profile_string(c->to, profile_text(c->from, s)) + 1;
    return c->strings[s] - 1;
}

/* The row of `to` that a row of `from` has; true when it was just made and is to be filled in. */
#define ROW(c, table, i, place)                                                                                      \
    (!(c)->table[i] && ((place) = VEC_PUSH(&(c)->to->table)) != NULL ? ((c)->table[i] = (u32)(c)->to->table.n, true) \
                                                                     : ((c)->failed |= !(c)->table[i], false))

static u32 mapping(struct copy *c, u32 i)
{
    struct prof_mapping *m;
    if (ROW(c, mappings, i, m)) {
        *m = c->from->mappings.v[i];
        m->name = string(c, m->name);
        m->build_id = string(c, m->build_id);
    }
    return c->mappings[i] - 1;
}

static u32 function(struct copy *c, u32 i)
{
    struct prof_function *f;
    if (ROW(c, functions, i, f)) {
        *f = c->from->functions.v[i];
        f->name = string(c, f->name);
        f->system_name = string(c, f->system_name);
        f->file = string(c, f->file);
    }
    return c->functions[i] - 1;
}

static u32 location(struct copy *c, u32 i)
{
    struct prof_location *l;
    if (!ROW(c, locations, i, l))
        return c->locations[i] - 1;
    struct prof_location made = c->from->locations.v[i];
    u32 first = made.first_line;
    made.mapping = mapping(c, made.mapping);
    made.first_line = (u32)c->to->lines.n;
    for (u32 k = 0; k < made.nlines; k++) {
        struct prof_line *line = VEC_PUSH(&c->to->lines);
        if (!line) {
            c->failed = true;
            made.nlines = k;
            break;
        }
        *line = c->from->lines.v[first + k];
        line->function = function(c, line->function);
    }
    *l = made;
    return c->locations[i] - 1;
}

static u32 process(struct copy *c, u32 i)
{
    struct prof_process *p;
    if (ROW(c, processes, i, p)) {
        *p = c->from->processes.v[i];
        p->name = string(c, p->name);
    }
    return c->processes[i] - 1;
}

/* A frame that is the process itself. Processes of one name share it, as they share a name in the flame graph. */
static u32 process_location(struct copy *c, u32 i)
{
    u32 name = string(c, c->from->processes.v[i].name);
    if (c->process_locations[i])
        return c->process_locations[i] - 1;
    for (size_t k = 0; k < c->from->processes.n; k++) /* few in one container */
        if (c->process_locations[k] && c->from->processes.v[k].name == c->from->processes.v[i].name)
            return (c->process_locations[i] = c->process_locations[k]) - 1;
    struct prof_mapping *m = VEC_PUSH(&c->to->mappings);
    struct prof_function *f = VEC_PUSH(&c->to->functions);
    struct prof_line *line = VEC_PUSH(&c->to->lines);
    struct prof_location *l = VEC_PUSH(&c->to->locations);
    if (!m || !f || !line || !l) {
        c->failed = true;
        return 0;
    }
    *m = (struct prof_mapping){.name = profile_string(c->to, "[process]"), .has_functions = true};
    *f = (struct prof_function){.name = name, .system_name = name};
    *line = (struct prof_line){.function = (u32)c->to->functions.n - 1};
    *l = (struct prof_location){
        .mapping = (u32)c->to->mappings.n - 1, .first_line = (u32)c->to->lines.n - 1, .nlines = 1};
    return (c->process_locations[i] = (u32)c->to->locations.n) - 1;
}

static void stack(struct copy *c, const struct prof_stack *s, const struct subset *part)
{
    struct prof_stack *to = VEC_PUSH(&c->to->stacks);
    if (!to || VEC_RESERVE(&c->to->stack_locations, c->to->stack_locations.n + s->n + 1)) {
        c->failed = true;
        return;
    }
    *to = (struct prof_stack){.process = process(c, s->process),
                              .thread = string(c, s->thread),
                              .tid = s->tid,
                              .nstid = s->nstid,
                              .holder = string(c, s->holder),
                              .tag = string(c, s->tag),
                              .cause = s->cause,
                              .n = s->n};
    to->first = (u32)c->to->stack_locations.n;
    memcpy(to->count, s->count, sizeof(to->count));
    memcpy(to->value, s->value, sizeof(to->value));
    for (u32 i = 0; i < s->n; i++) {
        u32 l = location(c, c->from->stack_locations.v[s->first + i]);
        c->to->stack_locations.v[c->to->stack_locations.n++] = l;
    }
    if (part->process_frames) {
        c->to->stack_locations.v[c->to->stack_locations.n++] = process_location(c, s->process);
        to->n++;
    }
}

int profile_subset(const struct profile *p, const struct subset *s, struct profile *out)
{
    struct copy c = {.from = p, .to = out};
    c.strings = rows(&c, strings_count(p->strings));
    c.mappings = rows(&c, p->mappings.n);
    c.functions = rows(&c, p->functions.n);
    c.locations = rows(&c, p->locations.n);
    c.processes = rows(&c, p->processes.n);
    c.process_locations = rows(&c, p->processes.n);
    for (size_t i = 0; i < s->n && !c.failed; i++)
        if (p->stacks.v[s->stacks[i]].event == s->event && stack_has_any(&p->stacks.v[s->stacks[i]]))
            stack(&c, &p->stacks.v[s->stacks[i]], s);
    copy_free(&c);
    out->events[0] = p->events[s->event];
    out->period[0] = p->period[s->event];
    out->nevents = 1;
    out->time_ns = p->time_ns;
    out->duration_ns = p->duration_ns;
    return c.failed || strings_failed(out->strings) ? -ENOMEM : 0;
}
