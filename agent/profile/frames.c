#include "profile/frames.h"
#include "runtime/kinds.h"
#include <string.h>

/* ---- Causes and marks -------------------------------------------------------------------------------------------- */

struct cause {
    const char *slug, *text, *cut, *none;
    char class;
};
static const struct cause CAUSES[XP_CAUSE_COUNT] = {
#define CAUSE(name, slug, cls, text) {slug, text, "[cut: " slug "]", "[no stack: " slug "]", cls},
    XP_CAUSES(CAUSE)
#undef CAUSE
};
static const struct cause UNKNOWN = {"unknown", "a cause that this version does not know", "[cut: unknown]",
                                     "[no stack: unknown]", 'x'};

/* Marks have names beyond those of strings.h. */
#define MARK_CUT  (UINT32_MAX - 255)
#define MARK_NONE (MARK_CUT + 128)
_Static_assert(XP_CAUSE_COUNT < 128, "a mark's name is a base and the cause");

static const struct cause *cause(u32 number)
{
    return number < XP_CAUSE_COUNT ? &CAUSES[number] : &UNKNOWN;
}

char cause_class(u8 number)
{
    return cause(number)->class;
}

const char *cause_slug(u8 number)
{
    return cause(number)->slug;
}

const char *cause_text(u8 number)
{
    return cause(number)->text;
}

void cause_sums(const struct profile *p, struct prof_column column, struct cause_sum out[XP_CAUSE_COUNT])
{
    memset(out, 0, XP_CAUSE_COUNT * sizeof(*out));
    for (size_t i = 0; i < p->stacks.n; i++) {
        const struct prof_stack *s = &p->stacks.v[i];
        if (s->cause >= XP_CAUSE_COUNT || s->event != column.event)
            continue;
        out[s->cause].count += s->count[column.value];
        out[s->cause].value += s->value[column.value];
    }
}

u32 frame_mark(const struct prof_stack *s)
{
    u32 number = s->cause < XP_CAUSE_COUNT ? s->cause : XP_CAUSE_COUNT;
    if (cause_class(s->cause) == 'x')
        return MARK_CUT + number;
    return s->n && s->cause != XP_CAUSE_NOT_TAKEN ? 0 : MARK_NONE + number;
}

const char *frame_text(const struct profile *p, u32 name)
{
    if (name == MARK_NONE + XP_CAUSE_NOT_TAKEN) /* there may be kernel frames */
        return "[stack not taken]";
    if (name >= MARK_NONE)
        return cause(name - MARK_NONE)->none;
    if (name >= MARK_CUT)
        return cause(name - MARK_CUT)->cut;
    const char *text = profile_text(p, name);
    return text[0] ? text : "[unknown]";
}

/* ---- Stacks ------------------------------------------------------------------------------------------------------ */

static u8 found_of(const struct prof_location *l)
{
    return l->word_kind == XP_WORD_SYNTH ? FOUND_SYNTH : l->word_kind == XP_WORD_INFERRED ? FOUND_INFERRED : 0;
}

u8 stack_found(const struct profile *p, const struct prof_stack *s)
{
    u8 found = s->found;
    for (u32 i = 0; i < s->n; i++)
        found |= found_of(&p->locations.v[p->stack_locations.v[s->first + i]]);
    return found;
}

u8 found_of_slug(const char *slug)
{
    return !strcmp(slug, "inferred") ? FOUND_INFERRED : !strcmp(slug, "synthesised") ? FOUND_SYNTH : 0;
}

const char *found_slug(u8 found)
{
    return found & FOUND_INFERRED ? "inferred" : found & FOUND_SYNTH ? "synthesised" : NULL;
}

u8 stack_code(const struct profile *p, const struct prof_stack *s)
{
    u8 code = s->code;
    for (u32 i = 0; i < s->n && !code; i++) {
        const struct prof_location *l = &p->locations.v[p->stack_locations.v[s->first + i]];
        code = l->nlines ? p->lines.v[l->first_line].code : 0;
    }
    return code;
}

u32 stack_wait(const struct profile *p, const struct prof_stack *s)
{
    for (u32 i = 0; i < s->n; i++) { /* who ended it comes first */
        const struct prof_location *l = &p->locations.v[p->stack_locations.v[s->first + i]];
        if (l->origin == FRAME_WAIT && l->word_kind == XP_WORD_WAIT && l->nlines)
            return p->functions.v[p->lines.v[l->first_line].function].name;
    }
    return 0;
}

static void add_location(const struct profile *p, const struct prof_location *l, struct frames *out)
{
    for (u32 i = l->nlines; i--;) {
        const struct prof_line *line = &p->lines.v[l->first_line + i];
        const struct prof_function *f = &p->functions.v[line->function];
        out->v[out->n++] = (struct frame){.name = f->name,
                                          .module = p->mappings.v[l->mapping].name,
                                          .file = f->file,
                                          .line = line->line,
                                          .into = l->into,
                                          .kind = l->origin,
                                          .found = found_of(l),
                                          .code = line->code,
                                          .inlined = i + 1 < l->nlines};
    }
}

int frames_of(const struct profile *p, const struct prof_stack *s, struct frames *out)
{
    const u32 *locations = p->stack_locations.v + s->first;
    size_t n = 2;
    for (u32 i = 0; i < s->n; i++)
        n += p->locations.v[locations[i]].nlines;
    if (VEC_RESERVE(out, n))
        return -ENOMEM;
    out->n = 0;
    out->v[out->n++] = (struct frame){
        .name = p->processes.v[s->process].name, .pid = p->processes.v[s->process].tgid, .kind = FRAME_PROCESS};
    u32 mark = frame_mark(s);
    if (mark)
        out->v[out->n++] = (struct frame){.name = mark, .kind = FRAME_MARK};
    for (u32 i = s->n; i--;)
        add_location(p, &p->locations.v[locations[i]], out);
    return 0;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static void widen(struct frame_row *r, u32 line)
{
    if (line && (!r->line_lo || line < r->line_lo))
        r->line_lo = line;
    if (line > r->line_hi)
        r->line_hi = line;
}

_Static_assert(RUNTIME_KINDS <= 16, "a bit for each in frame_row.codes");

static u16 code_bit(const struct frame *f)
{
    return f->code ? (u16)(1u << f->code) : 0;
}

s64 frame_table_add(struct frame_table *t, const struct frame *f)
{
    bool inlined = t->inlines && f->inlined;
    u64 key[3] = {(u64)f->name << 32 | f->module, (u64)f->file << 32 | f->pid, (u64)inlined << 8 | f->kind};
    u64 hash = lookup_hash(key, 3, 0);
    u32 row;
    for (struct probe p = lookup_start(&t->index, hash); lookup_next(&t->index, &p, &row);) {
        struct frame_row *r = &t->rows.v[row];
        if (r->name == f->name && r->module == f->module && r->file == f->file && r->pid == f->pid &&
            r->kind == f->kind && r->inlined == inlined) {
            widen(r, f->line);
            r->found |= f->found;
            r->codes |= code_bit(f);
            return row;
        }
    }
    row = (u32)t->rows.n;
    struct frame_row *r = VEC_PUSH(&t->rows);
    if (!r || lookup_put(&t->index, hash, row))
        return -1;
    *r = (struct frame_row){.name = f->name, .module = f->module, .file = f->file, .pid = f->pid, .kind = f->kind};
    r->inlined = inlined;
    r->found = f->found;
    r->codes = code_bit(f);
    widen(r, f->line);
    return row;
}

void frame_table_free(struct frame_table *t)
{
    vec_free(&t->rows);
    lookup_free(&t->index);
}
