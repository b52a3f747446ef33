#include "dwarf/line_internal.h"
#include <dwarf.h>
#include <errno.h>

#define MAX_FORMATS 32 /* columns of the tables of version 5; five are defined */

struct format {
    u64 content, form;
};

/* The name or number that a column holds. The forms of unit entries, but their sizes are the header's. */
static struct dwarf_value read_column(struct cursor *c, struct dwarf_file *d, const struct dwarf_unit *u,
                                      const struct dwarf_line_header *h, u64 form)
{
    struct dwarf_unit like = *u;
    like.offset_size = h->offset_size;
    if (form > 0xffff || form == DW_FORM_implicit_const)
        c->bad = true;
    return c->bad ? (struct dwarf_value){0} : dwarf_value_read(c, d, &like, (unsigned)form, 0);
}

/* A table of version 5: directories, or files. */
static int read_table(struct cursor *c, struct dwarf_file *d, const struct dwarf_unit *u,
                      const struct dwarf_line_header *h, struct dwarf_lines *out, bool files)
{
    struct format f[MAX_FORMATS];
    unsigned nf = cursor_u8(c);
    if (nf > MAX_FORMATS)
        return -EBADMSG;
    for (unsigned i = 0; i < nf; i++)
        f[i] = (struct format){read_uleb(c), read_uleb(c)};
    u64 n = read_uleb(c);
    if (c->bad || n > cursor_left(c) || (n && !nf))
        return -EBADMSG;
    if (n > DWARF_MAX_FILES)
        return -ENOSPC;
    if (files ? VEC_RESERVE(&out->files, n) : VEC_RESERVE(&out->dirs, n))
        return -ENOMEM;
    for (u64 k = 0; k < n && !c->bad; k++) {
        struct dwarf_source s = {0};
        for (unsigned i = 0; i < nf; i++) {
            struct dwarf_value v = read_column(c, d, u, h, f[i].form);
            if (f[i].content == DW_LNCT_path)
                s.name = v.s;
            else if (f[i].content == DW_LNCT_directory_index)
                s.dir = v.n;
        }
        if (files)
            out->files.v[out->files.n++] = s;
        else
            out->dirs.v[out->dirs.n++] = s.name;
    }
    return c->bad ? -EBADMSG : 0;
}

/* Versions 2 to 4: two lists that end with an empty name; both count from 1, directory 0 is the unit's. */
static int read_lists(struct cursor *c, struct dwarf_lines *out)
{
    const char **dir = VEC_PUSH(&out->dirs), *name = "";
    struct dwarf_source *file = VEC_PUSH(&out->files);
    if (!dir || !file)
        return -ENOMEM;
    *dir = NULL;
    *file = (struct dwarf_source){0};
    while ((name = cursor_str(c)) && *name) {
        dir = out->dirs.n <= DWARF_MAX_FILES ? VEC_PUSH(&out->dirs) : NULL;
        if (!dir)
            return -ENOSPC;
        *dir = name;
    }
    while ((name = cursor_str(c)) && *name) {
        file = out->files.n <= DWARF_MAX_FILES ? VEC_PUSH(&out->files) : NULL;
        if (!file)
            return -ENOSPC;
        *file = (struct dwarf_source){name, read_uleb(c)};
        read_uleb(c); /* time */
        read_uleb(c); /* length */
    }
    return c->bad ? -EBADMSG : 0;
}

/* Up to the length of the header's rest. */
static int read_version(struct cursor *c, struct dwarf_line_header *h)
{
    u64 len = cursor_u32(c);
    if (len == 0xffffffff) {
        len = cursor_u64(c);
        h->offset_size = 8;
    }
    if (c->bad || len > cursor_left(c))
        return -EBADMSG;
    c->len = c->pos + (size_t)len;
    h->version = cursor_u16(c);
    if (h->version < 2 || h->version > 5)
        return c->bad ? -EBADMSG : -ENOTSUP;
    if (h->version >= 5)
        read_skip(c, 2); /* sizes of addresses and of segment selectors */
    return c->bad ? -EBADMSG : 0;
}

int dwarf_line_header_read(struct dwarf_file *d, const struct dwarf_unit *u, struct dwarf_line_header *h,
                           struct dwarf_lines *out)
{
    struct cursor c = cursor_of(d->sec[SEC_LINE].data, d->sec[SEC_LINE].len);
    read_seek(&c, u->line_off);
    *h = (struct dwarf_line_header){.offset_size = 4, .max_ops = 1};
    int err = read_version(&c, h);
    if (err)
        return err;
    u64 rest = read_uint(&c, h->offset_size);
    h->program = c;
    read_skip(&h->program, rest);
    h->min_length = cursor_u8(&c);
    if (h->version >= 4)
        h->max_ops = cursor_u8(&c);
    read_skip(&c, 1); /* is_stmt: every row counts for a profiler */
    h->line_base = (int8_t)cursor_u8(&c);
    h->line_range = cursor_u8(&c);
    h->opcode_base = cursor_u8(&c);
    for (unsigned i = 1; i < h->opcode_base; i++)
        h->args[i] = cursor_u8(&c);
    if (c.bad || h->program.bad || !h->line_range || !h->opcode_base)
        return -EBADMSG;
    c.len = h->program.pos;
    if (c.pos > c.len)
        return -EBADMSG;
    if (h->version < 5)
        return read_lists(&c, out);
    err = read_table(&c, d, u, h, out, false);
    return err ? err : read_table(&c, d, u, h, out, true);
}
