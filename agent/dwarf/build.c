#include "dwarf/build.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include <dwarf.h>
#include <errno.h>

#define MEMO_ENTRIES (1u << 16) /* of by_die: units seldom ask for each other's names */

static void unit_done(struct dwarf_builder *b)
{
    if (b->from != b->d) /* places and offsets of another file */
        map_free(&b->by_die);
    b->from = b->d;
    dwarf_lines_free(&b->lines);
    b->unit_files.n = b->ranges.n = b->covered.n = 0;
    if (b->by_die.n > MEMO_ENTRIES)
        map_free(&b->by_die);
}

static void builder_free(struct dwarf_builder *b)
{
    unit_done(b);
    vec_free(&b->rows);
    vec_free(&b->blocks);
    vec_free(&b->chunks);
    vec_free(&b->nodes);
    vec_free(&b->files);
    vec_free(&b->strings);
    vec_free(&b->unit_files);
    vec_free(&b->ranges);
    vec_free(&b->covered);
    map_free(&b->by_address);
    map_free(&b->by_text);
    map_free(&b->by_die);
    map_free(&b->by_path);
    dwarf_split_close(&b->split);
}

/* Entry 0 of everything stands for "unknown". */
static int builder_init(struct dwarf_builder *b)
{
    const struct elf_bytes *sec = b->d->sec;
    u64 text = sec[SEC_STR].len + sec[SEC_LINE_STR].len + b->d->info_size + sec[SEC_LINE].len;
    b->from = b->d;
    b->line_budget = 8 * sec[SEC_LINE].len + (1u << 20);
    b->range_budget = (sec[SEC_RANGES].len + sec[SEC_RNGLISTS].len) / 2 + b->d->info_size / 8 + (1u << 16);
    b->text_budget = 16 * text + (16u << 20);
    char *s = VEC_PUSH(&b->strings);
    u32 *f = VEC_PUSH(&b->files);
    struct dwarf_node *n = VEC_PUSH(&b->nodes);
    if (!s || !f || !n)
        return -ENOMEM;
    *s = 0;
    *f = 0;
    *n = (struct dwarf_node){0};
    return 0;
}

/* The unit behind a skeleton takes its place for the walk. One that cannot be had leaves lines, and what clang repeats
 * in the skeleton of inlined calls. */
static void enter_split(struct dwarf_builder *b)
{
    struct dwarf_file *file;
    struct dwarf_unit *code = b->u->dwo_name ? dwarf_split_unit(&b->split, b->u, &file) : NULL;
    b->code = b->u;
    b->cuts |= b->u->dwo_name && !code ? DWARF_CUT_PARTS : 0;
    if (!code)
        return;
    map_free(&b->by_die);
    b->from = file;
    b->code = code;
    b->debug_bytes += code->end - code->off;
    b->range_budget += (code->end - code->off) / 8;
    b->text_budget += 16 * (code->end - code->off);
}

static int read_lines(struct dwarf_builder *b)
{
    int err = dwarf_lines_read(b->d, b->u, b->line_budget, &b->lines);
    b->line_budget -= b->lines.steps < b->line_budget ? b->lines.steps : b->line_budget;
    if (err == -ENOSPC)
        b->cuts |= DWARF_CUT_LINES;
    return err == -ENOMEM ? err : 0;
}

/* A unit with code. 0, -ENOMEM, or -ENOSPC: no other unit has a chance. */
static int add_unit(struct dwarf_builder *b)
{
    int err = read_lines(b), walked = 0;
    enter_split(b);
    if (!err)
        walked = dwarf_walk(b);
    b->d->late |= b->from->late;
    if (walked == -EBADMSG)
        b->cuts |= DWARF_CUT_DAMAGED;
    err = err || walked == -ENOMEM ? -ENOMEM : dwarf_sweep(b);
    unit_done(b);
    if (b->d->late) {
        b->cuts |= DWARF_CUT_TIME;
        return -ENOSPC;
    }
    return err;
}

static int add_all(struct dwarf_builder *b)
{
    struct dwarf_die o;
    int err;
    while (!(err = dwarf_file_next(b->d, &b->u))) {
        if (!b->u->readable)
            continue;
        err = dwarf_unit_prepare(b->d, b->u, &o);
        if (err) {
            b->cuts |= DWARF_CUT_DAMAGED;
            continue;
        }
        if (o.tag != DW_TAG_compile_unit && o.tag != DW_TAG_skeleton_unit)
            continue;
        if (o.has_low || o.has_ranges || b->u->has_lines || b->u->dwo_name)
            err = add_unit(b);
        if (err || b->d->strayed)
            break;
    }
    if (b->d->strayed)
        return -EXDEV;
    if (err == -EBADMSG)
        b->cuts |= DWARF_CUT_DAMAGED;
    if (err == -ENOMEM || err == -ENOSPC)
        b->cuts |= b->cuts & DWARF_CUT_TIME ? 0 : DWARF_CUT_BYTES;
    return 0;
}

static u64 debug_bytes(const struct dwarf_builder *b)
{
    const struct dwarf_file *d = b->d;
    u64 sum = b->debug_bytes + (d->stream ? d->info_size : 0);
    for (int i = 0; i < SEC_COUNT; i++)
        sum += d->sec[i].len;
    return sum;
}

struct input {
    const struct elf_file *e;
    const struct dwarf_parts *parts;
    struct dwarf_file *alt;
    u64 deadline_ns;
};

/* Was a part moved to a file that is not there? */
static bool lacks_alt(const struct input *in)
{
    struct elf_section s;
    return !in->alt && elf_section(in->e, ".gnu_debugaltlink", &s);
}

/* -EXDEV: it cannot be read as a stream. */
static int build(const struct input *in, bool stream, const struct dwarf_limits *limits, void **out, size_t *len)
{
    CLEANUP(dwarf_file_close) struct dwarf_file d = {0};
    int err = dwarf_file_open(&d, in->e, NULL, stream ? limits->whole_bytes : DWARF_ANY_SIZE);
    if (err)
        return err;
    d.alt = in->alt;
    d.deadline_ns = in->deadline_ns;
    CLEANUP(builder_free)
    struct dwarf_builder b = {.d = &d, .limits = limits, .split = {.parts = in->parts, .linked = &d}};
    err = builder_init(&b);
    if (!err)
        err = add_all(&b);
    if (err)
        return err;
    b.cuts |= lacks_alt(in) ? DWARF_CUT_PARTS : 0;
    map_free(&b.by_address);
    map_free(&b.by_text);
    map_free(&b.by_die);
    return dwarf_finish(&b, debug_bytes(&b), out, len);
}

int dwarf_index_build(const struct elf_file *e, const struct dwarf_parts *parts, const struct dwarf_limits *limits,
                      void **out, size_t *len)
{
    CLEANUP(dwarf_file_close) struct dwarf_file alt = {0};
    struct input in = {.e = e, .parts = parts, .deadline_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + limits->cpu_ns};
    if (parts && parts->alt && !dwarf_file_open(&alt, parts->alt, NULL, DWARF_ANY_SIZE))
        in.alt = &alt;
    alt.deadline_ns = in.deadline_ns;
    int err = build(&in, true, limits, out, len);
    return err == -EXDEV ? build(&in, false, limits, out, len) : err;
}

static bool is_another_build(const struct elf_file *a, const struct elf_file *b)
{
    return a->build_id_len && b->build_id_len &&
           (a->build_id_len != b->build_id_len || memcmp(a->build_id, b->build_id, a->build_id_len) != 0);
}

int dwarf_index_build_fds(const struct dwarf_fds *f, void **out, size_t *len)
{
    static const struct dwarf_limits limits = DWARF_LIMITS_DEFAULT;
    AUTO_ELF struct elf_file file = {0};
    AUTO_ELF struct elf_file debug = {0};
    AUTO_ELF struct elf_file alt = {0};
    AUTO_ELF struct elf_file dwp = {0};
    struct dwarf_parts parts = {.dwo = f->dwo, .ctx = f->ctx};
    int err = elf_open(&file, f->file);
    if (!err && f->debug >= 0)
        err = elf_open(&debug, f->debug);
    if (err)
        return err;
    if (f->debug >= 0 && is_another_build(&file, &debug))
        return -ESTALE;
    if (f->alt >= 0 && !elf_open(&alt, f->alt))
        parts.alt = &alt;
    if (f->dwp >= 0 && !elf_open(&dwp, f->dwp))
        parts.dwp = &dwp;
    return dwarf_index_build(f->debug >= 0 ? &debug : &file, &parts, &limits, out, len);
}
