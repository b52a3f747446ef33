#include "cli/inspect.h"
#include "dwarf/names.h"
#include "cfi/table.h"
#include "cli/rule_text.h"
#include "profile/text.h"
#include <elf.h>
#include <errno.h>
#include <string.h>

static const char *why(int error)
{
    return error == -ENOEXEC   ? "not an ELF file for this machine"
           : error == -EBADMSG ? "malformed"
           : error == -ENODATA ? "none"
           : error == -ESTALE  ? "the file changed while it was read"
                               : strerror(-error);
}

static const char *kind(const struct facts *f)
{
    return f->type == ET_REL                  ? "object file"
           : f->type == ET_EXEC && f->dynamic ? "program at a fixed address"
           : f->type == ET_EXEC               ? "static program at a fixed address"
           : f->dynamic                       ? "program, position independent"
                                              : "shared object";
}

static double percent(const struct inspection *i)
{
    return i->code ? 100.0 * (double)i->covered / (double)i->code : 0;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static void label(struct buf *out, const char *what)
{
    buf_printf(out, "  %-12s", what);
}

static void add_quantity(struct buf *out, u64 n, const char *what)
{
    text_quantity(out, n, "");
    buf_printf(out, " %s", what);
}

static const char *why_dropped(enum synth_drop d)
{
    static const char *const texts[SYNTH_DROP_COUNT] = {
#define TEXT(name, slug, text) text,
        SYNTH_DROPS(TEXT)
#undef TEXT
    };
    return d == SYNTH_DROP_NOT ? "nothing could be proven" : texts[d];
}

/* What the instructions say of code without unwind information. */
static void add_synth(const struct inspection *i, struct buf *out)
{
    if (!i->synth_tried)
        return;
    label(out, "synthesised");
    if (i->synth_error)
        buf_printf(out, "no rows: %s\n", why(i->synth_error));
    else if (i->by_stretches && !i->nstretches)
        buf_str(out, "by stretches of the code, where stacks stop: none so far\n");
    else if (!i->table.source_rows[XP_SOURCE_SYNTH])
        buf_printf(out, "no rows: %s\n", why_dropped(i->dropped));
    else {
        buf_printf(out, "for %.2f %% of ",
                   100.0 * (double)i->synth.claimed_bytes / (double)(i->synth.code_bytes + !i->synth.code_bytes));
        add_quantity(out, i->synth.code_bytes, "bytes of code without unwind information");
        if (i->by_stretches)
            buf_printf(out, " in the %u stretches where stacks stopped", i->nstretches);
        buf_char(out, '\n');
    }
}

static void add_table(const struct inspection *i, struct buf *out)
{
    label(out, "unwinding");
    if (i->table_error) {
        buf_printf(out, "no table: %s\n", why(i->table_error));
        return;
    }
    const char *separator = ": ";
    add_quantity(out, i->table.nrows, "rows");
    for (unsigned s = 0; s < XP_SOURCE_COUNT; s++)
        if (i->table.source_rows[s]) {
            buf_str(out, separator);
            add_quantity(out, i->table.source_rows[s], table_source_name((enum xp_source)s));
            separator = ", ";
        }
    buf_printf(out, "; for %.2f %% of ", percent(i));
    add_quantity(out, i->code, "bytes of code");
    if (i->table.bad_fdes)
        buf_printf(out, "; %u malformed", i->table.bad_fdes);
    buf_str(out, i->table.flags & XP_TABLE_FP_OK ? "; frame pointers are used elsewhere\n" : "\n");
    add_synth(i, out);
    if (!i->ngaps)
        return;
    label(out, "no rows");
    buf_printf(out, "%u gaps, the largest:", i->ngaps);
    for (size_t g = 0; g < INSPECT_GAPS && i->gaps[g].len; g++) {
        u64 address = i->gaps[g].offset;
        facts_address(&i->facts, i->gaps[g].offset, &address);
        buf_printf(out, " %#llx+%#llx", (unsigned long long)address, (unsigned long long)i->gaps[g].len);
    }
    buf_char(out, '\n');
}

static void add_cuts(u32 cuts, struct buf *out)
{
    static const char *const names[] = {
        "time", "bytes", "line programs", "ranges", "names", "depth of nesting", "damage", "parts in other files"};
    const char *separator = "; cut short by: ";
    for (size_t c = 0; c < sizeof(names) / sizeof(*names); c++)
        if (cuts >> c & 1) {
            buf_printf(out, "%s%s", separator, names[c]);
            separator = ", ";
        }
}

static void add_lines(const struct inspection *i, struct buf *out)
{
    label(out, "lines");
    if (i->lines_error) {
        buf_printf(out, "%s\n", why(i->lines_error));
        return;
    }
    add_quantity(out, i->lines.functions, "functions, ");
    add_quantity(out, i->lines.nnodes > i->lines.functions ? i->lines.nnodes - i->lines.functions : 0,
                 "inlined calls, ");
    add_quantity(out, i->lines.nfiles, "source files");
    add_cuts(i->lines.cuts, out);
    buf_char(out, '\n');
}

static void add_trace(const struct inspection *i, struct buf *out)
{
    label(out, "debug files");
    if (i->debug_error)
        buf_printf(out, "%s\n", why(i->debug_error));
    else if (!i->trace.v.n)
        buf_str(out, "not looked for\n");
    for (size_t t = 0; t < i->trace.v.n; t++) {
        const struct debug_attempt *a = &i->trace.v.v[t];
        buf_printf(out, t ? "              %s " : "%s ", a->whose);
        text_clean(out, a->place, 0, 0);
        buf_printf(out, ": %s\n", a->outcome);
    }
    if (i->trace.more)
        buf_printf(out, "              and %u more\n", i->trace.more);
}

void inspect_text(const struct inspection *i, struct buf *out)
{
    text_clean(out, i->file->path, 0, 0);
    buf_char(out, '\n');
    if (i->error) {
        buf_printf(out, "  %s\n", why(i->error));
        return;
    }
    label(out, "build ID");
    buf_printf(out, "%s\n", i->file->build_id[0] ? i->file->build_id : "none");
    label(out, "kind");
    buf_printf(out, "%s%s%s, ", i->facts.language, i->facts.language[0] ? " " : "", kind(&i->facts));
    add_quantity(out, i->facts.size, "bytes\n");
    add_table(i, out);
    label(out, "symbols");
    add_quantity(out, i->facts.symbols, "in .symtab, ");
    add_quantity(out, i->facts.dynamic_symbols, "in .dynsym\n");
    add_lines(i, out);
    add_trace(i, out);
}

void inspect_line(const struct inspection *i, struct buf *out)
{
    buf_str(out, "  ");
    text_clean(out, i->file->path, 0, 0);
    if (i->error) {
        buf_printf(out, ": %s\n", why(i->error));
        return;
    }
    buf_printf(out, ": %s, ", i->facts.language[0] ? i->facts.language : "?");
    if (i->table_error)
        buf_printf(out, "no table (%s), ", why(i->table_error));
    else
        buf_printf(out, "rows for %.2f %% of its code, ", percent(i));
    if (i->lines_error)
        buf_printf(out, "%s\n",
                   i->facts.symbols || i->debug.debug_symbols ? "symbols, no lines" : "dynamic symbols only");
    else
        buf_str(out, i->lines.cuts ? "lines, cut short\n" : "lines\n");
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

struct shown {
    struct buf *out;
    bool json, any;
};

static void show_names(void *arg, const struct names *n)
{
    struct shown *s = arg;
    for (u32 f = n->first[0]; f < n->first[1]; f++) {
        const struct names_frame *frame = &n->frames[f];
        const char *name = n->strings + frame->name, *file = n->strings + frame->file;
        bool inlined = f + 1 < n->first[1];
        if (s->json) {
            buf_str(s->out, s->any ? ",{\"function\":" : "{\"function\":");
            buf_json(s->out, name);
            buf_printf(s->out, ",\"inlined\":%s,\"file\":", inlined ? "true" : "false");
            buf_json(s->out, file);
            buf_printf(s->out, ",\"line\":%u}", frame->line);
        } else {
            buf_str(s->out, "    ");
            text_clean(s->out, *name ? name : "no name", 0, 0);
            buf_str(s->out, inlined ? " (inlined)" : "");
            if (*file) {
                buf_str(s->out, "  ");
                text_clean(s->out, file, 0, 0);
                buf_printf(s->out, ":%u", frame->line);
            }
            buf_char(s->out, '\n');
        }
        s->any = true;
    }
}

void inspect_address_text(struct binaries *b, const struct inspect_address *a, struct buf *out)
{
    struct name_source source = binaries_source(b);
    struct shown shown = {.out = out};
    struct xp_rule rule;
    const struct binary *f = binaries_get(b, a->id);
    buf_printf(out, "%#llx", (unsigned long long)a->address);
    if (!f) {
        buf_str(out, " is not in the code of any file\n");
        return;
    }
    buf_str(out, " in ");
    text_clean(out, f->path, 0, 0);
    buf_printf(out, ", offset %#llx\n", (unsigned long long)a->offset);
    source.names(source.ctx, a->id, &a->offset, 1, show_names, &shown);
    if (inspect_rule(b, a->id, a->offset, &rule))
        return;
    buf_str(out, "    rule: ");
    rule_text(&rule, out);
    buf_char(out, '\n');
}

void inspect_address_json(struct binaries *b, const struct inspect_address *a, struct buf *out)
{
    struct name_source source = binaries_source(b);
    struct shown shown = {.out = out, .json = true};
    struct xp_rule rule;
    const struct binary *f = binaries_get(b, a->id);
    buf_printf(out, "{\"address\":\"%#llx\"", (unsigned long long)a->address);
    if (f) {
        buf_str(out, ",\"file\":");
        buf_json(out, f->path);
        buf_printf(out, ",\"offset\":\"%#llx\",\"frames\":[", (unsigned long long)a->offset);
        source.names(source.ctx, a->id, &a->offset, 1, show_names, &shown);
        buf_char(out, ']');
        if (!inspect_rule(b, a->id, a->offset, &rule)) {
            buf_str(out, ",\"rule\":\"");
            rule_text(&rule, out);
            buf_char(out, '"');
        }
    }
    buf_char(out, '}');
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_table(const struct inspection *i, struct buf *out)
{
    if (i->table_error) {
        buf_str(out, ",\"table_error\":");
        buf_json(out, why(i->table_error));
        return;
    }
    buf_printf(out, ",\"rows\":{\"all\":%u", i->table.nrows);
    for (unsigned s = 0; s < XP_SOURCE_COUNT; s++)
        buf_printf(out, ",\"%s\":%u", table_source_name((enum xp_source)s), i->table.source_rows[s]);
    buf_str(out, "}");
    if (i->synth_tried)
        buf_printf(
            out,
            ",\"synthesis\":{\"error\":%d,\"dropped\":\"%s\",\"code\":%llu,\"claimed\":%llu,\"instructions\":%llu,"
            "\"entries\":%llu,\"regions\":%llu,\"proven\":%llu,\"stretches\":%u}",
            i->synth_error, synth_drop_name(i->dropped), (unsigned long long)i->synth.code_bytes,
            (unsigned long long)i->synth.claimed_bytes, (unsigned long long)i->synth.insns,
            (unsigned long long)i->synth.entries, (unsigned long long)i->synth.regions,
            (unsigned long long)i->synth.proven, i->nstretches);
    buf_printf(out, ",\"malformed\":%u,\"code\":%llu,\"covered\":%llu,\"gaps\":%u,\"largest_gaps\":[",
               i->table.bad_fdes, (unsigned long long)i->code, (unsigned long long)i->covered, i->ngaps);
    for (size_t g = 0; g < INSPECT_GAPS && i->gaps[g].len; g++)
        buf_printf(out, "%s{\"offset\":%llu,\"bytes\":%llu}", g ? "," : "", (unsigned long long)i->gaps[g].offset,
                   (unsigned long long)i->gaps[g].len);
    buf_char(out, ']');
}

static void json_trace(const struct inspection *i, struct buf *out)
{
    buf_str(out, ",\"debug_files\":[");
    for (size_t t = 0; t < i->trace.v.n; t++) {
        const struct debug_attempt *a = &i->trace.v.v[t];
        buf_str(out, t ? ",{\"place\":" : "{\"place\":");
        buf_json(out, a->place);
        buf_printf(out, ",\"whose\":\"%s\",\"outcome\":", a->whose);
        buf_json(out, a->outcome);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

void inspect_json(const struct inspection *i, struct buf *out)
{
    buf_str(out, "{\"path\":");
    buf_json(out, i->file->path);
    if (i->error) {
        buf_str(out, ",\"error\":");
        buf_json(out, why(i->error));
        buf_char(out, '}');
        return;
    }
    buf_printf(out, ",\"build_id\":\"%s\",\"kind\":\"%s\",\"language\":\"%s\",\"bytes\":%llu", i->file->build_id,
               kind(&i->facts), i->facts.language, (unsigned long long)i->facts.size);
    json_table(i, out);
    buf_printf(out, ",\"symbols\":%u,\"dynamic_symbols\":%u", i->facts.symbols, i->facts.dynamic_symbols);
    if (!i->lines_error) {
        buf_printf(out, ",\"lines\":{\"functions\":%u,\"nodes\":%u,\"files\":%u,\"cuts\":%u}", i->lines.functions,
                   i->lines.nnodes, i->lines.nfiles, i->lines.cuts);
    } else {
        buf_str(out, ",\"lines_error\":");
        buf_json(out, why(i->lines_error));
    }
    json_trace(i, out);
    buf_char(out, '}');
}
