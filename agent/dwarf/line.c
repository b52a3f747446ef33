#include "dwarf/line.h"
#include "dwarf/line_internal.h"
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>

struct machine {
    struct dwarf_file *d;
    const struct dwarf_line_header *h;
    struct dwarf_lines *out;
    u64 address, file, line;
    u64 op_index;
    size_t first; /* row of the open sequence */
    u64 last;     /* address of its last row */
    bool descends;
};

static void restart(struct machine *m)
{
    m->address = m->last = m->op_index = 0;
    m->file = m->line = 1;
    m->first = m->out->rows.n;
    m->descends = false;
}

static void advance(struct machine *m, u64 ops)
{
    const struct dwarf_line_header *h = m->h;
    if (h->max_ops <= 1) {
        m->address += h->min_length * ops;
        return;
    }
    m->address += h->min_length * ((m->op_index + ops) / h->max_ops);
    m->op_index = (m->op_index + ops) % h->max_ops;
}

/* The last row of an address wins, and neighbours that say the same are one. */
static int emit(struct machine *m, bool end)
{
    struct dwarf_lines *o = m->out;
    struct dwarf_row *last = o->rows.n > m->first ? &o->rows.v[o->rows.n - 1] : NULL;
    struct dwarf_row r = {.address = m->address, .sequence_end = end};
    if (!end && m->file < o->files.n && m->line < INT32_MAX) {
        r.file = (u32)m->file + 1;
        r.line = (u32)m->line;
    }
    m->descends |= last && m->address < m->last;
    m->last = m->address;
    if (last && last->address == r.address) { /* with an end in its place, it covered nothing */
        *last = r;
        return 0;
    }
    if (last && !end && last->file == r.file && last->line == r.line)
        return 0;
    struct dwarf_row *place = o->rows.n < DWARF_MAX_ROWS ? VEC_PUSH(&o->rows) : NULL;
    if (!place)
        return o->rows.n < DWARF_MAX_ROWS ? -ENOMEM : -ENOSPC;
    *place = r;
    return 0;
}

static void end_sequence(struct machine *m)
{
    struct dwarf_lines *o = m->out;
    if (m->first < o->rows.n && (m->descends || !dwarf_is_code(m->d, o->rows.v[m->first].address)))
        o->rows.n = m->first;
    restart(m);
}

/* 0, or an error that ends the program. */
static int extended(struct machine *m, struct cursor *c)
{
    struct cursor x = cursor_sub(c, (size_t)read_uleb(c));
    int err = 0;
    switch (cursor_u8(&x)) {
    case DW_LNE_end_sequence:
        err = emit(m, true);
        end_sequence(m);
        break;
    case DW_LNE_set_address:
        m->address = read_uint(&x, (unsigned)cursor_left(&x));
        m->op_index = 0;
        break;
    }
    return c->bad ? -EBADMSG : err;
}

static int standard(struct machine *m, struct cursor *c, unsigned op)
{
    switch (op) {
    case 0:
        return extended(m, c);
    case DW_LNS_copy:
        return emit(m, false);
    case DW_LNS_advance_pc:
        advance(m, read_uleb(c));
        break;
    case DW_LNS_advance_line:
        m->line += (u64)read_sleb(c);
        break;
    case DW_LNS_set_file:
        m->file = read_uleb(c);
        break;
    case DW_LNS_const_add_pc:
        advance(m, (255u - m->h->opcode_base) / m->h->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        m->address += cursor_u16(c);
        m->op_index = 0;
        break;
    default: /* column, is_stmt, block, prologue, epilogue, ISA, and what later versions may add */
        for (unsigned n = m->h->args[op]; n; n--)
            read_uleb(c);
    }
    return 0;
}

static int run(struct machine *m, struct cursor *c, u64 max_steps)
{
    const struct dwarf_line_header *h = m->h;
    int err = 0;
    while (c->pos < c->len && !c->bad && !err) {
        unsigned op = cursor_u8(c);
        if (++m->out->steps > max_steps || !dwarf_spend(m->d, 1))
            return -ENOSPC;
        if (op < h->opcode_base) {
            err = standard(m, c, op);
            continue;
        }
        op -= h->opcode_base;
        advance(m, op / h->line_range);
        m->line += (u64)(s64)(h->line_base + (int)(op % h->line_range));
        err = emit(m, false);
    }
    return err;
}

/* Sequences keep their order; the end of one comes before the start of the next. */
static int by_address(const void *x, const void *y)
{
    const struct dwarf_row *a = x, *b = y;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return b->sequence_end - a->sequence_end;
}

static void sort(struct dwarf_lines *l)
{
    bool sorted = true;
    for (size_t i = 1; i < l->rows.n && sorted; i++)
        sorted = by_address(&l->rows.v[i - 1], &l->rows.v[i]) <= 0;
    if (!sorted)
        qsort(l->rows.v, l->rows.n, sizeof(*l->rows.v), by_address);
}

int dwarf_lines_read(struct dwarf_file *d, const struct dwarf_unit *u, u64 max_steps, struct dwarf_lines *out)
{
    struct dwarf_line_header h;
    struct machine m = {.d = d, .h = &h, .out = out};
    dwarf_lines_free(out);
    if (!u->has_lines)
        return -ENODATA;
    int err = dwarf_line_header_read(d, u, &h, out);
    if (err) {
        dwarf_lines_free(out);
        return err;
    }
    restart(&m);
    err = run(&m, &h.program, max_steps);
    out->rows.n = m.first; /* rows of a sequence without end are not believed */
    sort(out);
    return err == -EBADMSG ? 0 : err;
}

void dwarf_lines_free(struct dwarf_lines *l)
{
    vec_free(&l->rows);
    vec_free(&l->dirs);
    vec_free(&l->files);
    *l = (struct dwarf_lines){0};
}

const char *dwarf_lines_path(const struct dwarf_lines *l, const struct dwarf_unit *u, u64 no, char *buf, size_t size)
{
    const char *name = no < l->files.n ? l->files.v[no].name : NULL, *dir = "", *root = "";
    if (!name || *name == '/')
        return name;
    u64 i = l->files.v[no].dir;
    if (i < l->dirs.n && l->dirs.v[i])
        dir = l->dirs.v[i];
    if (*dir != '/' && u->comp_dir)
        root = u->comp_dir;
    snprintf(buf, size, "%.*s%s%.*s%s%.*s", 2048, root, *root ? "/" : "", 2048, dir, *dir ? "/" : "", 2048, name);
    return buf;
}
