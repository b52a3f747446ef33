/* pprof's profile.proto, gzipped. Values: samples/count (of all kinds that have no name of their own for that), then
 * those of each recorded kind; the CPU alone is what Go's own CPU profile looks like, and locks alone what its mutex
 * profile does (contentions/count). A stack that
 * is not whole has a synthetic root frame and a label that say why, so that no reader takes its outermost frame for
 * main.
 */
#include "base/cleanup.h"
#include "base/gz.h"
#include "base/pb.h"
#include "profile/formats.h"
#include "profile/frames.h"
#include "profile/locks.h"
#include "profile/strings.h"
#include "runtime/kinds.h"
#include <string.h>

enum profile_field {
    P_SAMPLE_TYPE = 1,
    P_SAMPLE = 2,
    P_MAPPING = 3,
    P_LOCATION = 4,
    P_FUNCTION = 5,
    P_STRING_TABLE = 6,
    P_TIME_NANOS = 9,
    P_DURATION_NANOS = 10,
    P_PERIOD_TYPE = 11,
    P_PERIOD = 12,
    P_COMMENT = 13,
    P_DEFAULT_SAMPLE_TYPE = 14
};

struct mapping_facts {
    bool files, lines, inlines;
};

/* Ids of mappings, locations and functions are row + 1; strings not of the profile follow its own in the table. Marks
 * are locations (and functions) behind the profile's: row = count + cause. */
struct writer {
    const struct profile *p;
    struct buf *b;
    struct strings *extra;
    u32 marks[256]; /* by cause: the mark's text, for those that were used */
    struct mapping_facts *facts;
    struct prof_column columns[PROF_COLUMNS];
    size_t ncolumns;
    bool shared; /* there are samples/count */
    bool labels;
};

static const struct event_value *value_of(const struct writer *w, struct prof_column c)
{
    return &w->p->events[c.event]->values[c.value];
}

static void find_columns(struct writer *w)
{
    w->ncolumns = profile_columns(w->p, w->columns);
    for (size_t i = 0; i < w->ncolumns; i++)
        w->shared |= !value_of(w, w->columns[i])->count;
}

static u64 extra_string(struct writer *w, const char *s)
{
    u32 n = strings_add(w->extra, s);
    return n ? strings_count(w->p->strings) + n - 1 : 0;
}

static void value_type(struct writer *w, unsigned field, const char *type, const char *unit)
{
    size_t m = pb_begin(w->b, field);
    pb_uint(w->b, 1, extra_string(w, type));
    pb_uint(w->b, 2, extra_string(w, unit));
    pb_end(w->b, m);
}

/* ---- Samples ----------------------------------------------------------------------------------------------------- */

static void label_text(struct writer *w, const char *key, u64 text)
{
    size_t m = pb_begin(w->b, 3);
    pb_uint(w->b, 1, extra_string(w, key));
    pb_uint(w->b, 2, text);
    pb_end(w->b, m);
}

static void label_number(struct writer *w, const char *key, u64 number)
{
    size_t m = pb_begin(w->b, 3);
    pb_uint(w->b, 1, extra_string(w, key));
    pb_uint(w->b, 3, number);
    pb_end(w->b, m);
}

static void sample_locations(struct writer *w, const struct prof_stack *s)
{
    size_t m = pb_begin(w->b, 1);
    for (u32 i = 0; i < s->n; i++)
        pb_varint(w->b, w->p->stack_locations.v[s->first + i] + 1);
    u32 mark = frame_mark(s);
    if (mark) {
        w->marks[s->cause] = mark;
        pb_varint(w->b, w->p->locations.n + s->cause + 1);
    }
    pb_end(w->b, m);
}

static void label_lock(struct writer *w, const struct prof_stack *s, const struct prof_location *lock)
{
    AUTO_BUF struct buf text = {0};
    lock_label(w->p, lock, &text);
    buf_char(&text, 0);
    w->b->failed |= text.failed;
    label_text(w, "wait", extra_string(w, "lock"));
    label_text(w, "lock", text.failed ? 0 : extra_string(w, text.data));
    if (s->holder)
        label_text(w, "holder", s->holder);
}

/* "[disk]" -> "disk": in a label, it is matched by regular expressions. */
static void label_wait(struct writer *w, const struct prof_stack *s)
{
    const char *text = profile_text(w->p, stack_wait(w->p, s));
    size_t len = strlen(text);
    AUTO_FREE char *bare = len > 2 ? strndup(text + 1, len - 2) : NULL;
    if (bare)
        label_text(w, "wait", extra_string(w, bare));
    w->b->failed |= len > 2 && !bare;
}

static void sample_labels(struct writer *w, const struct prof_stack *s)
{
    const struct prof_process *process = &w->p->processes.v[s->process];
    label_number(w, "pid", process->tgid);
    if (process->name)
        label_text(w, "process", process->name);
    if (cause_class(s->cause) == 'x' || s->cause == XP_CAUSE_NOT_TAKEN)
        label_text(w, "cut", extra_string(w, cause_slug(s->cause)));
    const char *found = found_slug(stack_found(w->p, s));
    if (found)
        label_text(w, "unwind", extra_string(w, found));
    const char *code = runtime_kind_slug(stack_code(w->p, s));
    if (code)
        label_text(w, "runtime", extra_string(w, code));
    const struct prof_location *lock = stack_lock(w->p, s);
    if (lock)
        label_lock(w, s, lock);
    else
        label_wait(w, s);
}

static void sample_values(struct writer *w, const struct prof_stack *s)
{
    size_t m = pb_begin(w->b, 2);
    if (w->shared)
        pb_varint(w->b, w->p->events[s->event]->values[0].count ? 0 : stack_count(s));
    for (size_t i = 0; i < w->ncolumns; i++) {
        struct prof_column c = w->columns[i];
        const char *count = value_of(w, c)->count;
        bool here = c.event == s->event;
        if (count && *count)
            pb_varint(w->b, here ? s->count[c.value] : 0);
        pb_varint(w->b, here ? s->value[c.value] : 0);
    }
    pb_end(w->b, m);
}

static void sample(struct writer *w, const struct prof_stack *s)
{
    if (s->event >= w->p->nevents || !stack_has_any(s))
        return;
    size_t m = pb_begin(w->b, P_SAMPLE);
    sample_locations(w, s);
    sample_values(w, s);
    if (w->labels)
        sample_labels(w, s);
    if (s->thread) /* these are known only where somebody wants them */
        label_text(w, "thread", s->thread);
    if (s->nstid)
        label_number(w, "tid", s->tid);
    if (s->nstid != s->tid && s->nstid)
        label_number(w, "nstid", s->nstid);
    if (s->tag && w->p->events[s->event]->tag)
        label_text(w, w->p->events[s->event]->tag, s->tag);
    pb_end(w->b, m);
}

/* ---- The main binary --------------------------------------------------------------------------------------------- */

/* pprof calls the first mapping the main binary and shows its name: the program, neither library nor kernel, that most
 * samples were in. */
static size_t main_mapping(const struct profile *p)
{
    AUTO_FREE u64 *votes = calloc(p->mappings.n + 1, sizeof(*votes));
    size_t best = 0;
    for (size_t i = 0; votes && i < p->stacks.n; i++)
        for (u32 k = 0; k < p->stacks.v[i].n; k++)
            votes[p->locations.v[p->stack_locations.v[p->stacks.v[i].first + k]].mapping] +=
                stack_count(&p->stacks.v[i]);
    for (size_t i = 0; votes && i < p->mappings.n; i++) {
        const char *name = profile_text(p, p->mappings.v[i].name);
        if (name[0] == '[' || strstr(name, ".so"))
            votes[i] = 0;
        if (votes[i] > votes[best])
            best = i;
    }
    return best;
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

static void gather_facts(struct writer *w)
{
    const struct profile *p = w->p;
    for (size_t i = 0; i < p->locations.n; i++) {
        const struct prof_location *l = &p->locations.v[i];
        struct mapping_facts *f = &w->facts[l->mapping];
        f->inlines |= l->nlines > 1;
        for (u32 k = 0; k < l->nlines; k++) {
            const struct prof_line *line = &p->lines.v[l->first_line + k];
            f->lines |= line->line != 0;
            f->files |= p->functions.v[line->function].file != 0;
        }
    }
}

static void mapping(struct writer *w, size_t i)
{
    const struct prof_mapping *map = &w->p->mappings.v[i];
    size_t m = pb_begin(w->b, P_MAPPING);
    pb_uint(w->b, 1, i + 1);
    pb_uint(w->b, 2, map->lo <= map->hi ? map->lo : 0);
    pb_uint(w->b, 3, map->hi < UINT64_MAX ? map->hi + 1 : map->hi);
    pb_uint(w->b, 4, map->lo_offset);
    pb_uint(w->b, 5, map->name);
    pb_uint(w->b, 6, map->build_id);
    pb_uint(w->b, 7, map->has_functions);
    pb_uint(w->b, 8, w->facts[i].files);
    pb_uint(w->b, 9, w->facts[i].lines);
    pb_uint(w->b, 10, w->facts[i].inlines);
    pb_end(w->b, m);
}

static void line(struct writer *w, u64 function, u64 number)
{
    size_t m = pb_begin(w->b, 4);
    pb_uint(w->b, 1, function);
    pb_uint(w->b, 2, number);
    pb_end(w->b, m);
}

static void location(struct writer *w, size_t i)
{
    const struct prof_location *l = &w->p->locations.v[i];
    size_t m = pb_begin(w->b, P_LOCATION);
    pb_uint(w->b, 1, i + 1);
    pb_uint(w->b, 2, l->mapping + 1);
    pb_uint(w->b, 3, l->address);
    for (u32 k = 0; k < l->nlines; k++)
        line(w, w->p->lines.v[l->first_line + k].function + 1, w->p->lines.v[l->first_line + k].line);
    pb_end(w->b, m);
}

static void function(struct writer *w, u64 id, u64 name, u64 system_name, u64 file, u64 start_line)
{
    size_t m = pb_begin(w->b, P_FUNCTION);
    pb_uint(w->b, 1, id);
    pb_uint(w->b, 2, name);
    pb_uint(w->b, 3, system_name);
    pb_uint(w->b, 4, file);
    pb_uint(w->b, 5, start_line);
    pb_end(w->b, m);
}

static void marks(struct writer *w)
{
    for (size_t cause = 0; cause < 256; cause++) {
        if (!w->marks[cause])
            continue;
        size_t m = pb_begin(w->b, P_LOCATION);
        pb_uint(w->b, 1, w->p->locations.n + cause + 1);
        line(w, w->p->functions.n + cause + 1, 0);
        pb_end(w->b, m);
        u64 name = extra_string(w, frame_text(w->p, w->marks[cause]));
        function(w, w->p->functions.n + cause + 1, name, name, 0, 0);
    }
}

static void tables(struct writer *w)
{
    const struct profile *p = w->p;
    gather_facts(w);
    size_t first = main_mapping(p);
    if (p->mappings.n)
        mapping(w, first);
    for (size_t i = 0; i < p->mappings.n; i++)
        if (i != first)
            mapping(w, i);
    for (size_t i = 0; i < p->locations.n; i++)
        location(w, i);
    for (size_t i = 0; i < p->functions.n; i++) {
        const struct prof_function *f = &p->functions.v[i];
        function(w, i + 1, f->name ? f->name : extra_string(w, frame_text(p, 0)), f->system_name, f->file,
                 f->start_line);
    }
    marks(w);
}

static void about(struct writer *w)
{
    const struct profile *p = w->p;
    if (w->shared)
        value_type(w, P_SAMPLE_TYPE, "samples", "count");
    for (size_t i = 0; i < w->ncolumns; i++) {
        const struct event_value *v = value_of(w, w->columns[i]);
        if (v->count && *v->count)
            value_type(w, P_SAMPLE_TYPE, v->count, "count");
        value_type(w, P_SAMPLE_TYPE, v->type, v->unit);
    }
    if (p->nevents) {
        const struct event_kind *first = p->events[0];
        const struct event_value *period = first->period.type ? &first->period : &first->values[0];
        if (first->period.type || first->default_hz) { /* every wait counts: there is no period */
            value_type(w, P_PERIOD_TYPE, period->type, period->unit);
            pb_uint(w->b, P_PERIOD, p->period[0]);
        }
        pb_uint(w->b, P_DEFAULT_SAMPLE_TYPE, extra_string(w, profile_main(p)->type));
    }
    pb_uint(w->b, P_TIME_NANOS, p->time_ns);
    pb_uint(w->b, P_DURATION_NANOS, p->duration_ns);
    for (size_t i = 0; i < p->comments.n; i++)
        if (p->comments.v[i])
            pb_uint(w->b, P_COMMENT, p->comments.v[i]);
}

static void string_table(struct writer *w)
{
    for (size_t i = 0; i < strings_count(w->p->strings); i++)
        pb_string(w->b, P_STRING_TABLE, strings_text(w->p->strings, (u32)i));
    for (size_t i = 1; i < strings_count(w->extra); i++)
        pb_string(w->b, P_STRING_TABLE, strings_text(w->extra, (u32)i));
}

int encode_pprof_plain(const struct profile *p, bool labels, struct buf *out)
{
    AUTO_FREE struct mapping_facts *facts = calloc(p->mappings.n + 1, sizeof(*facts));
    struct strings *extra __attribute__((cleanup(strings_free))) = NULL;
    if (!facts || strings_new(&extra))
        return -ENOMEM;
    struct writer w = {.p = p, .b = out, .extra = extra, .facts = facts, .labels = labels};
    find_columns(&w);
    about(&w);
    for (size_t i = 0; i < p->stacks.n; i++)
        sample(&w, &p->stacks.v[i]);
    tables(&w);
    string_table(&w);
    return out->failed || strings_failed(extra) ? -ENOMEM : 0;
}

int encode_pprof(const struct profile *p, struct buf *out)
{
    AUTO_BUF struct buf raw = {0};
    int rc = encode_pprof_plain(p, true, &raw);
    return rc ? rc : gz_compress(raw.data, raw.len, 6, out);
}
