#include "profile/recorded.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/gz.h"
#include "base/map.h"
#include "base/pprof_read.h"
#include "profile/runtime_mappings.h"
#include "profile/frames.h"
#include "profile/locks.h"
#include "profile/recorded_labels.h"
#include "profile/recorded_types.h"
#include "profile/symbolize_internal.h"
#include "profile/strings.h"
#include "profile/wait_frames.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COMMENTS 13 /* field numbers of profile.proto are as in base/pprof_read.c */

struct reader {
    const struct pprof *from;
    struct profile *p;
    struct recorded *to;
    u32 *strings;                                 /* of the profile, by the file's numbers */
    struct map processes;                         /* hash of pid and name -> row + 1 */
    struct recorded_place places[RECORDED_TYPES]; /* of the values of each sample */
    u32 *rows; /* of p->locations, by place in the file; NO_ROW: a mark of ours, made anew later */
    int error; /* sticky */
};
#define NO_ROW UINT32_MAX

static void fail(struct reader *r, int error)
{
    r->error = r->error ? r->error : error;
}

static u32 text(struct reader *r, u64 number)
{
    if (number >= r->from->strings.n) {
        fail(r, -EBADMSG);
        return 0;
    }
    return r->strings[number];
}

static void read_strings(struct reader *r)
{
    AUTO_BUF struct buf s = {0};
    for (size_t i = 0; i < r->from->strings.n && !r->error; i++) {
        s.len = 0;
        buf_add(&s, r->from->strings.v[i].base, r->from->strings.v[i].len);
        buf_char(&s, 0);
        if (s.failed)
            fail(r, -ENOMEM);
        else
            r->strings[i] = profile_string(r->p, s.data);
    }
}

/* ---- Kinds of samples -------------------------------------------------------------------------------------------- */

static void read_types(struct reader *r)
{
    const char *names[RECORDED_TYPES], *units[RECORDED_TYPES];
    size_t n = 0;
    for (; n < r->from->sample_types.n && n < RECORDED_TYPES; n++) {
        names[n] = profile_text(r->p, text(r, pb_number(r->from->sample_types.v[n], 1)));
        units[n] = profile_text(r->p, text(r, pb_number(r->from->sample_types.v[n], 2)));
    }
    r->p->nevents = recorded_types(names, n, r->places, r->p->events);
    if (recorded_other_types(r->p, names, units, n, r->places))
        fail(r, -ENOMEM);
    for (size_t e = 0; e < r->p->nevents; e++)
        r->p->period[e] = e || !r->from->period ? 1 : r->from->period;
    if (!r->p->nevents)
        fail(r, -ENOTSUP);
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

/* A row of the profile for what has names in it already, and a file for what has none. */
static void read_mapping(struct reader *r, struct cursor m)
{
    struct prof_mapping *row = VEC_PUSH(&r->p->mappings);
    struct recorded_file *file = VEC_PUSH(&r->to->files);
    u64 hi = pb_number(m, 3);
    if (!row || !file) {
        fail(r, -ENOMEM);
        return;
    }
    *row = (struct prof_mapping){.name = text(r, pb_number(m, 5)),
                                 .build_id = text(r, pb_number(m, 6)),
                                 .lo = pb_number(m, 2),
                                 .hi = hi ? hi - 1 : 0,
                                 .lo_offset = pb_number(m, 4)};
    *file = (struct recorded_file){.lo = row->lo, .hi = row->hi, .lo_offset = row->lo_offset};
    file->path = strdup(profile_text(r->p, row->name));
    if (!file->path)
        fail(r, -ENOMEM);
    snprintf(file->build_id, sizeof(file->build_id), "%.40s", profile_text(r->p, row->build_id));
}

static void read_function(struct reader *r, struct cursor f)
{
    struct prof_function *row = VEC_PUSH(&r->p->functions);
    u64 line = pb_number(f, 5);
    if (row)
        *row = (struct prof_function){.name = text(r, pb_number(f, 2)),
                                      .system_name = text(r, pb_number(f, 3)),
                                      .file = text(r, pb_number(f, 4)),
                                      .start_line = line > INT32_MAX ? 0 : (u32)line};
    else
        fail(r, -ENOMEM);
}

static void read_line(struct reader *r, struct cursor line, struct prof_location *l)
{
    u64 function = pprof_place(&r->from->function_ids, pb_number(line, 1)), number = pb_number(line, 2);
    struct prof_line *place = function ? VEC_PUSH(&r->p->lines) : NULL;
    if (!place) {
        fail(r, function ? -ENOMEM : -EBADMSG);
        return;
    }
    *place = (struct prof_line){.function = (u32)function - 1, .line = number > INT32_MAX ? 0 : (u32)number};
    if (!l->nlines++)
        l->first_line = (u32)r->p->lines.n - 1;
}

/* As naming.c calls mappings: "[kernel.kallsyms]" and modules against "[anon]" and files. */
static enum frame_origin origin_of(const char *mapping)
{
    if (!strcmp(mapping, "[anon]") || is_runtime_mapping(mapping))
        return FRAME_JIT;
    if (wait_mapping_kind(mapping))
        return FRAME_WAIT;
    return mapping[0] == '[' && strcmp(mapping, "[vdso]") && strcmp(mapping, "[unknown]") ? FRAME_KERNEL : FRAME_NATIVE;
}

/* The word of a location without a name: its mapping's file, and the place in it. Addresses are those to look up
 * already (naming.c), and so exact, and locks have the same bit for being in a file. 0: no file could name it. */
static u64 word_of(struct reader *r, const struct prof_location *l)
{
    struct recorded_file *file = &r->to->files.v[l->mapping];
    u64 offset = l->address - file->lo + file->lo_offset;
    if (l->address < file->lo || l->address > file->hi || offset >> XP_OFFSET_BITS)
        return 0;
    file->unnamed++;
    return XP_FILE_WORD(l->word_kind, (u64)XP_FILE_FIRST + l->mapping, offset) | XP_WORD_EXACT;
}

/* Locks stand in the mappings of their files. One that has no name yet has a line that says so. */
static void read_lock(struct reader *r, struct prof_location *l)
{
    struct prof_mapping *m = &r->p->mappings.v[l->mapping];
    const char *mapping = profile_text(r->p, m->name), *name = profile_function(r->p, l);
    if (!lock_is(name) || !strcmp(mapping, WAIT_MAPPING))
        return;
    l->origin = FRAME_WAIT;
    l->word_kind = XP_WORD_LOCK;
    m->locks = true;
    if (mapping[0] != '[' && !strcmp(name, LOCK_UNNAMED))
        l->nlines = 0;
}

static void read_location(struct reader *r, struct cursor c, u32 *row)
{
    struct prof_location l = {.address = pb_number(c, 3)};
    u64 id = pb_number(c, 2), mapping = pprof_place(&r->from->mapping_ids, id);
    *row = NO_ROW;
    if (!id)
        return;
    l.mapping = (u32)mapping - 1;
    for (struct pb_field f; mapping && pb_next(&c, &f);)
        if (f.number == 4)
            read_line(r, f.bytes, &l);
    struct prof_location *place = mapping ? VEC_PUSH(&r->p->locations) : NULL;
    u64 *word = place ? VEC_PUSH(&r->to->words) : NULL;
    if (!word) {
        fail(r, mapping ? -ENOMEM : -EBADMSG);
        return;
    }
    *row = (u32)r->p->locations.n - 1;
    *place = l;
    const char *name = profile_text(r->p, r->p->mappings.v[l.mapping].name);
    place->origin = origin_of(name);
    place->into = place->nlines ? INTO_UNKNOWN : 0;
    place->word_kind = place->origin == FRAME_WAIT ? wait_mapping_kind(name) : XP_WORD_CFI;
    read_lock(r, place);
    *word = place->nlines ? 0 : word_of(r, place);
    r->p->mappings.v[l.mapping].has_functions |= place->nlines > 0;
}

/* ---- Samples ----------------------------------------------------------------------------------------------------- */

static void read_label(struct reader *r, struct cursor c, struct recorded_labels *out)
{
    recorded_label(r->p, text(r, pb_number(c, 1)), text(r, pb_number(c, 2)), pb_number(c, 3), out);
}

static u32 process_row(struct reader *r, const struct recorded_labels *l)
{
    u64 *known = map_put(&r->processes, 1ull << 63 | (u64)l->process << 32 | l->pid);
    if (known && *known)
        return (u32)*known - 1;
    struct prof_process *row = known ? VEC_PUSH(&r->p->processes) : NULL;
    if (!row) {
        fail(r, -ENOMEM);
        return 0;
    }
    *row = (struct prof_process){.name = l->process, .tgid = l->pid};
    *known = r->p->processes.n;
    return (u32)*known - 1;
}

/* Addresses of callers are one less than where they go on. That was lost where the frame is looked up as it is. */
static void note_caller(struct reader *r, u32 row)
{
    u64 *word = &r->to->words.v[row];
    if (word_exact(*word) && XP_WORD_OFFSET(*word + 1))
        *word = (*word & ~XP_WORD_EXACT) + 1;
}

static bool is_of_file(const struct reader *r, u32 row)
{
    return r->p->locations.v[row].origin == FRAME_NATIVE;
}

static void read_stack(struct reader *r, struct pb_field *ids, struct prof_stack *s)
{
    for (u64 id; !r->error && pb_repeated(ids, &id);) {
        u64 place = pprof_place(&r->from->location_ids, id);
        u32 row = place ? r->rows[place - 1] : NO_ROW;
        u32 *to = row == NO_ROW ? NULL : VEC_PUSH(&r->p->stack_locations);
        if (!place)
            fail(r, -EBADMSG);
        else if (row != NO_ROW && !to)
            fail(r, -ENOMEM);
        if (!to)
            continue;
        *to = row;
        if (s->n++ && is_of_file(r, row) && is_of_file(r, to[-1]))
            note_caller(r, row);
    }
}

/* What a sample has of each event. */
struct amounts {
    struct prof_stack of[XP_MAX_EVENTS];
    u64 samples;   /* of the kinds that share this number */
    size_t number; /* of the next value */
};

static void read_values(struct reader *r, struct pb_field *f, struct amounts *a)
{
    for (u64 v; pb_repeated(f, &v); a->number++) {
        const struct recorded_place *p =
            a->number < RECORDED_TYPES ? &r->places[a->number] : &(struct recorded_place){0};
        if (p->what == PLACE_SAMPLES)
            a->samples = v;
        else if (p->what == PLACE_COUNT)
            a->of[p->event].count[p->value] = v;
        else if (p->what == PLACE_SUM)
            a->of[p->event].value[p->value] = v;
    }
}

/* Samples of our own have one event each, so all were of that; of several events, all but the first have one each. */
static void split_samples(const struct reader *r, struct amounts *a)
{
    size_t first = r->p->nevents;
    for (size_t e = 0; e < r->p->nevents; e++) {
        if (!a->of[e].value[0] || r->p->events[e]->values[0].count)
            continue;
        if (first == r->p->nevents)
            first = e;
        else if (a->samples > 1)
            a->samples -= a->of[e].count[0] = 1;
    }
    a->of[first < r->p->nevents ? first : 0].count[0] += a->samples;
}

/* A stack for each event that the sample has anything of. */
static void add_stacks(struct reader *r, const struct prof_stack *s, const struct amounts *a)
{
    for (u8 e = 0; e < r->p->nevents; e++) {
        struct prof_stack *row = stack_has_any(&a->of[e]) ? VEC_PUSH(&r->p->stacks) : NULL;
        if (row) {
            *row = *s;
            row->event = e;
            stack_add(row, &a->of[e]);
        } else if (stack_has_any(&a->of[e])) {
            fail(r, -ENOMEM);
        }
    }
}

static void read_sample(struct reader *r, struct cursor c)
{
    struct recorded_labels labels = {.cause = XP_CAUSE_END};
    struct prof_stack s = {.first = (u32)r->p->stack_locations.n};
    struct amounts a = {0};
    for (struct pb_field f; !r->error && pb_next(&c, &f);)
        if (f.number == 1)
            read_stack(r, &f, &s);
        else if (f.number == 2)
            read_values(r, &f, &a);
        else if (f.number == 3)
            read_label(r, f.bytes, &labels);
    split_samples(r, &a);
    s.process = process_row(r, &labels);
    s.cause = labels.cause;
    s.thread = labels.thread;
    s.tid = labels.tid;
    s.nstid = labels.nstid ? labels.nstid : labels.tid;
    s.holder = labels.holder;
    s.tag = labels.tag;
    s.found = labels.found;
    s.code = labels.code;
    add_stacks(r, &s, &a);
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static void read_comments(struct reader *r, struct cursor all)
{
    u64 v;
    for (struct pb_field f; !r->error && pb_next(&all, &f);)
        while (f.number == COMMENTS && pb_repeated(&f, &v) && !r->error) {
            u32 *place = VEC_PUSH(&r->p->comments);
            if (place)
                *place = text(r, v);
        }
}

static void read_all(struct reader *r, struct cursor all)
{
    const struct pprof *from = r->from;
    read_strings(r);
    read_types(r);
    for (size_t i = 0; i < from->mappings.n && !r->error; i++)
        read_mapping(r, from->mappings.v[i]);
    for (size_t i = 0; i < from->functions.n && !r->error; i++)
        read_function(r, from->functions.v[i]);
    for (size_t i = 0; i < from->locations.n && !r->error; i++)
        read_location(r, from->locations.v[i], &r->rows[i]);
    for (size_t i = 0; i < from->samples.n && !r->error; i++)
        read_sample(r, from->samples.v[i]);
    if (!r->error)
        recorded_periods(r->p);
    read_comments(r, all);
    r->p->time_ns = from->time_ns;
    r->p->duration_ns = from->duration_ns;
}

static int read_plain(const void *data, size_t len, struct profile *out, struct recorded *to)
{
    struct pprof from CLEANUP(pprof_free) = {0};
    int rc = pprof_read(&from, data, len);
    if (rc)
        return rc;
    AUTO_FREE u32 *strings = calloc(from.strings.n + 1, sizeof(*strings));
    AUTO_FREE u32 *rows = calloc(from.locations.n + 1, sizeof(*rows));
    struct reader r = {.from = &from, .p = out, .to = to, .strings = strings, .rows = rows};
    if (!strings || !rows)
        return -ENOMEM;
    read_all(&r, cursor_of(data, len));
    map_free(&r.processes);
    return r.error ? r.error : strings_failed(out->strings) ? -ENOMEM : 0;
}

int recorded_read(const void *data, size_t len, struct profile *out, struct recorded *to, char *why, size_t why_len)
{
    AUTO_BUF struct buf plain = {0};
    const u8 *bytes = data;
    bool packed = len > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
    int rc = packed ? gz_expand(data, len, RECORDED_MAX_BYTES, &plain) : 0;
    if (!rc)
        rc = read_plain(packed ? plain.data : data, packed ? plain.len : len, out, to);
    if (rc)
        snprintf(why, why_len, "%s",
                 rc == -ENOTSUP                 ? "xprof knows none of its sample types"
                 : rc == -EFBIG || rc == -E2BIG ? "the file is too large"
                 : rc == -ENOMEM                ? "out of memory"
                                                : "not a profile in pprof format, or damaged");
    return rc;
}

void recorded_free(struct recorded *r)
{
    for (size_t i = 0; i < r->files.n; i++)
        free(r->files.v[i].path);
    vec_free(&r->files);
    vec_free(&r->words);
}
