#include "profile/gecko_tables.h"
#include "profile/text.h"

/* ---- Adding ------------------------------------------------------------------------------------------------------ */

static s64 add_pair(struct gecko_set *s, u32 high, u32 low)
{
    u64 pair = (u64)high << 32 | low, hash = lookup_hash(&pair, 1, 0);
    u32 row;
    for (struct probe p = lookup_start(&s->index, hash); lookup_next(&s->index, &p, &row);)
        if (s->pairs.v[row] == pair)
            return row;
    row = (u32)s->pairs.n;
    u64 *new = VEC_PUSH(&s->pairs);
    if (!new)
        return -1;
    *new = pair;
    return lookup_put(&s->index, hash, row) ? -1 : (s64)row;
}

static u32 high_of(const struct gecko_set *s, size_t row)
{
    return (u32)(s->pairs.v[row] >> 32);
}

static u32 low_of(const struct gecko_set *s, size_t row)
{
    return (u32)s->pairs.v[row];
}

static s64 add_function(struct gecko_tables *t, const struct frame *f)
{
    if (add_pair(&t->strings, 0, f->name) < 0)
        return -1;
    if (f->file && add_pair(&t->strings, 0, f->file) < 0)
        return -1;
    if (f->module && (add_pair(&t->strings, 0, f->module) < 0 || add_pair(&t->modules, 0, f->module) < 0))
        return -1;
    return frame_table_add(&t->functions, f);
}

s64 gecko_add_stack(struct gecko_tables *t, const struct frame *frames, size_t n)
{
    s64 stack = -1;
    for (size_t i = 0; i < n; i++) {
        s64 function = add_function(t, &frames[i]);
        s64 frame = function < 0 ? -1 : add_pair(&t->frames, (u32)function, frames[i].line);
        stack = frame < 0 ? -1 : add_pair(&t->stacks, (u32)(stack + 1), (u32)frame);
        if (stack < 0)
            return -1;
    }
    return stack;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

typedef s64 column_value(struct gecko_tables *t, size_t row); /* -1: null */

static void put_column(struct gecko_tables *t, const char *name, size_t n, column_value *value, struct buf *out)
{
    buf_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        s64 v = value(t, i);
        if (i)
            buf_char(out, ',');
        if (v < 0)
            buf_str(out, "null");
        else
            text_uint(out, (u64)v);
    }
    buf_char(out, ']');
}

static void put_constant(const char *name, size_t n, const char *value, struct buf *out)
{
    buf_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%s", i ? "," : "", value);
    buf_char(out, ']');
}

static s64 frame_function(struct gecko_tables *t, size_t row)
{
    return high_of(&t->frames, row);
}

static s64 frame_line(struct gecko_tables *t, size_t row)
{
    u32 line = low_of(&t->frames, row);
    return line ? (s64)line : -1;
}

static s64 frame_category(struct gecko_tables *t, size_t row)
{
    const struct frame_row *f = &t->functions.rows.v[high_of(&t->frames, row)];
    switch (f->kind) {
    case FRAME_KERNEL:
        return GECKO_KERNEL;
    case FRAME_WAIT:
        return GECKO_WAIT;
    case FRAME_MARK:
        return GECKO_OTHER;
    default:
        return f->codes || f->kind == FRAME_JIT ? GECKO_RUNTIME : GECKO_USER;
    }
}

static void put_frames(struct gecko_tables *t, struct buf *out)
{
    size_t n = t->frames.pairs.n;
    buf_printf(out, "\"frameTable\":{\"length\":%zu", n);
    put_column(t, "func", n, frame_function, out);
    put_column(t, "line", n, frame_line, out);
    put_column(t, "category", n, frame_category, out);
    put_constant("subcategory", n, "0", out);
    put_constant("address", n, "-1", out);
    put_constant("inlineDepth", n, "0", out);
    put_constant("nativeSymbol", n, "null", out);
    put_constant("innerWindowID", n, "0", out);
    put_constant("column", n, "null", out);
    buf_char(out, '}');
}

static s64 function_name(struct gecko_tables *t, size_t row)
{
    return add_pair(&t->strings, 0, t->functions.rows.v[row].name);
}

static s64 function_file(struct gecko_tables *t, size_t row)
{
    u32 file = t->functions.rows.v[row].file;
    return file ? add_pair(&t->strings, 0, file) : -1;
}

static void put_functions(struct gecko_tables *t, struct buf *out)
{
    size_t n = t->functions.rows.n;
    buf_printf(out, ",\"funcTable\":{\"length\":%zu", n);
    put_column(t, "name", n, function_name, out);
    put_column(t, "fileName", n, function_file, out);
    buf_str(out, ",\"resource\":[");
    for (size_t i = 0; i < n; i++) {
        u32 module = t->functions.rows.v[i].module;
        buf_printf(out, "%s%lld", i ? "," : "", module ? (long long)add_pair(&t->modules, 0, module) : -1LL);
    }
    buf_char(out, ']');
    put_constant("isJS", n, "false", out);
    put_constant("relevantForJS", n, "false", out);
    put_constant("lineNumber", n, "null", out);
    put_constant("columnNumber", n, "null", out);
    buf_char(out, '}');
}

static s64 module_name(struct gecko_tables *t, size_t row)
{
    return add_pair(&t->strings, 0, low_of(&t->modules, row));
}

#define RESOURCE_LIBRARY "1"

static void put_modules(struct gecko_tables *t, struct buf *out)
{
    size_t n = t->modules.pairs.n;
    buf_printf(out, ",\"resourceTable\":{\"length\":%zu", n);
    put_column(t, "name", n, module_name, out);
    put_constant("type", n, RESOURCE_LIBRARY, out);
    put_constant("lib", n, "null", out);
    put_constant("host", n, "null", out);
    buf_char(out, '}');
}

static s64 stack_caller(struct gecko_tables *t, size_t row)
{
    return (s64)high_of(&t->stacks, row) - 1;
}

static s64 stack_frame(struct gecko_tables *t, size_t row)
{
    return low_of(&t->stacks, row);
}

static void put_stacks(struct gecko_tables *t, struct buf *out)
{
    size_t n = t->stacks.pairs.n;
    buf_printf(out, ",\"stackTable\":{\"length\":%zu", n);
    put_column(t, "prefix", n, stack_caller, out);
    put_column(t, "frame", n, stack_frame, out);
    buf_char(out, '}');
}

s64 gecko_add_string(struct gecko_tables *t, u32 string)
{
    return add_pair(&t->strings, 0, string);
}

static void put_strings(struct gecko_tables *t, struct buf *out)
{
    buf_str(out, ",\"stringArray\":[");
    for (size_t i = 0; i < t->strings.pairs.n; i++) {
        if (i)
            buf_char(out, ',');
        buf_json(out, frame_text(t->p, low_of(&t->strings, i)));
    }
    buf_char(out, ']');
}

void gecko_put_tables(struct gecko_tables *t, struct buf *out)
{
    put_frames(t, out);
    put_functions(t, out);
    put_modules(t, out);
    buf_str(out, ",\"nativeSymbols\":{\"length\":0,\"address\":[],\"functionSize\":[],\"libIndex\":[],\"name\":[]}");
    put_stacks(t, out);
    put_strings(t, out);
}

static void set_free(struct gecko_set *s)
{
    vec_free(&s->pairs);
    lookup_free(&s->index);
}

void gecko_tables_free(struct gecko_tables *t)
{
    set_free(&t->strings);
    set_free(&t->modules);
    set_free(&t->frames);
    set_free(&t->stacks);
    frame_table_free(&t->functions);
    *t = (struct gecko_tables){.p = t->p};
}
