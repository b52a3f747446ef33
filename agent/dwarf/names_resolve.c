#include "dwarf/names.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "dwarf/code_names.h"
#include "dwarf/data_names.h"
#include "dwarf/demangle.h"
#include "dwarf/names_elf.h"
#include <errno.h>

#define MAX_FRAMES (1u << 24) /* of one reply */

struct query {
    u64 offset;
    u32 i;        /* its place in the question */
    u32 first, n; /* its frames */
};

static int by_offset(const void *a, const void *b)
{
    const struct query *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset ? 1 : x->i < y->i ? -1 : x->i > y->i;
}

static int by_place(const void *a, const void *b)
{
    const struct query *x = a, *y = b;
    return x->i < y->i ? -1 : x->i > y->i;
}

struct text { /* places in the reply's strings */
    u32 name, system_name;
};

struct namer {
    const struct name_index *index; /* NULL: the file itself is read */
    struct name_index_text text;    /* of the index */
    const struct elf_file *e;       /* NULL: the index says what is needed of the file */
    struct code_names code;
    const struct dwarf_index *lines; /* NULL: none */
    enum demangle_style style;
    bool keeps_suffixes;
    struct buf strings;
    u64 last; /* the symbol name that last_text is of */
    struct text last_text;
    struct map texts; /* names (even) and files (odd) of the index -> struct text */
    VEC(struct names_frame) frames;
};

static void namer_free(struct namer *m)
{
    code_names_close(&m->code);
    buf_free(&m->strings);
    map_free(&m->texts);
    vec_free(&m->frames);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------ */

/* The two forms of a name; one when they are the same. */
static struct text add_name(struct namer *m, const char *s, size_t len)
{
    struct text t = {.system_name = (u32)m->strings.len};
    size_t base = m->keeps_suffixes ? len : demangle_base(s, len);
    append_utf8(&m->strings, s, len);
    buf_char(&m->strings, 0);
    t.name = (u32)m->strings.len;
    if (demangle(s, base, m->style, &m->strings) || base != len) {
        buf_char(&m->strings, 0);
    } else {
        m->strings.len = t.name;
        t.name = t.system_name;
    }
    return t;
}

/* A PLT's stub is named after what it calls. */
static struct text stub_text(struct namer *m, const struct name_hit *hit)
{
    struct text t = {.system_name = (u32)m->strings.len};
    append_utf8(&m->strings, hit->name, hit->len);
    buf_add(&m->strings, "@plt", sizeof("@plt"));
    t.name = (u32)m->strings.len;
    demangle(hit->name, hit->len, m->style, &m->strings);
    buf_add(&m->strings, "@plt", sizeof("@plt"));
    return t;
}

/* Offsets of one function come one after the other. */
static struct text symbol_text(struct namer *m, const struct name_hit *hit)
{
    if (!hit->id || m->last != hit->id)
        m->last_text = add_name(m, hit->name, hit->len);
    m->last = hit->id;
    return m->last_text;
}

static struct text index_text(struct namer *m, u32 at, bool file)
{
    struct text t = {0};
    u64 *known = at ? map_put(&m->texts, (u64)at << 1 | file) : NULL;
    if (!known)
        return t;
    if (*known)
        return (struct text){(u32)(*known >> 32), (u32)*known};
    struct dwarf_text s;
    dwarf_index_text(m->lines, at, &s);
    if (file) {
        t.name = t.system_name = (u32)m->strings.len;
        append_utf8(&m->strings, s.s, s.len);
        buf_char(&m->strings, 0);
    } else {
        t = add_name(m, s.s, s.len);
    }
    *known = (u64)t.name << 32 | t.system_name;
    return t;
}

/* ---- Frames ----------------------------------------------------------------------------------------------------- */

/* What the file says of offset number i, besides its debug information. */
static int find_code(struct namer *m, size_t i, u64 offset, bool named, struct name_hit *out)
{
    if (!m->index)
        return code_names_at(&m->code, i, offset, named, out);
    name_index_find(m->index, offset, &m->text, out);
    return 0;
}

/* The function itself, around whatever is inlined into it. A sized symbol is believed first: it is what other tools
 * show, the debug information has no mangled name for a static function, and functions that the linker folded have one
 * symbol but many entries. One without size counts only if neither the debug information nor an FDE knows better. */
static int name_function(struct namer *m, size_t i, u64 offset, struct names_frame *f)
{
    struct name_hit hit;
    bool named = f->name;
    int err = find_code(m, i, offset, named, &hit);
    if (err)
        return err;
    if (hit.kind == NAME_SIZED || hit.kind == NAME_LABEL || (hit.kind != NAME_NONE && !named))
        f->start = hit.start;
    if (hit.kind == NAME_SIZED || (hit.kind >= NAME_STUB && !named)) {
        struct text t = hit.kind == NAME_STUB ? stub_text(m, &hit) : symbol_text(m, &hit);
        f->name = t.name;
        f->system_name = t.system_name;
    }
    return 0;
}

static struct names_frame *push_frame(struct namer *m)
{
    struct names_frame *f = m->frames.n < MAX_FRAMES ? VEC_PUSH(&m->frames) : NULL;
    if (f)
        *f = (struct names_frame){0};
    return f;
}

static unsigned find_lines(const struct namer *m, u64 offset, struct dwarf_frame *chain)
{
    u64 address;
    if (!m->lines)
        return 0;
    if (m->index)
        return name_index_address(m->index, offset, &address) ? dwarf_index_find(m->lines, address, chain) : 0;
    const struct elf_segment *seg = elf_segment_of(m->e, offset, PF_X);
    return seg ? dwarf_index_find(m->lines, offset - seg->offset + seg->vaddr, chain) : 0;
}

/* `i`: number of the offset in ascending order. */
static int name_one(struct namer *m, size_t i, struct query *q)
{
    struct dwarf_frame chain[DWARF_INDEX_MAX_FRAMES] = {0};
    unsigned n = find_lines(m, q->offset, chain);
    q->first = (u32)m->frames.n;
    q->n = n ? n : 1;
    for (unsigned k = 0; k < q->n; k++) {
        struct names_frame *f = push_frame(m);
        if (!f)
            return m->frames.n < MAX_FRAMES ? -ENOMEM : -ENOSPC;
        struct text t = index_text(m, chain[k].name, false);
        *f = (struct names_frame){.start = q->offset,
                                  .name = t.name,
                                  .system_name = t.system_name,
                                  .file = index_text(m, chain[k].file, true).name,
                                  .line = chain[k].line};
    }
    int err = name_function(m, i, q->offset, &m->frames.v[m->frames.n - 1]);
    for (u32 k = q->first; k < (u32)m->frames.n; k++)
        m->frames.v[k].start = m->frames.v[m->frames.n - 1].start; /* inlined into it */
    return !err && m->strings.len > INT32_MAX ? -ENOSPC : err;
}

/* ---- Data ------------------------------------------------------------------------------------------------------- */

/* As it is in the symbol table: "lock.0" and "lock.1" are variables of two functions. */
static struct text data_text(struct namer *m, const struct data_name *d)
{
    struct text t = {.system_name = (u32)m->strings.len};
    if (!d->name)
        return (struct text){0};
    append_utf8(&m->strings, d->name, d->len);
    buf_char(&m->strings, 0);
    t.name = (u32)m->strings.len;
    demangle(d->name, d->len, m->style, &m->strings);
    buf_char(&m->strings, 0);
    return t;
}

/* Without the file (m->e), nothing has names for data. */
static int name_data(struct namer *m, const struct elf_file *more, struct query *q, size_t n)
{
    AUTO_FREE u64 *offsets = reallocarray(NULL, n, sizeof(*offsets));
    AUTO_FREE struct data_name *names = calloc(n, sizeof(*names));
    if (!offsets || !names)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        offsets[i] = names[i].address = q[i].offset & ~NAMES_DATA;
    int err = m->e ? data_names_find(m->e, more, offsets, n, names) : 0;
    for (size_t i = 0; i < n && !err; i++) {
        q[i].first = (u32)m->frames.n;
        q[i].n = 1;
        struct names_frame *f = push_frame(m);
        struct text t = data_text(m, &names[i]);
        if (f)
            *f = (struct names_frame){.start = names[i].name ? names[i].into : names[i].address,
                                      .name = t.name,
                                      .system_name = t.system_name};
        err = !f ? -ENOMEM : m->strings.len > INT32_MAX ? -ENOSPC : 0;
    }
    return err;
}

/* ---- A reply ---------------------------------------------------------------------------------------------------- */

static int open_code(struct namer *m, const struct elf_file *more, const struct query *q, size_t n)
{
    struct elf_section go;
    AUTO_FREE u64 *offsets = reallocarray(NULL, n, sizeof(*offsets));
    if (!offsets)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        offsets[i] = q[i].offset;
    m->keeps_suffixes = elf_section(m->e, ".gopclntab", &go); /* main.cold is a function of the user's there */
    return code_names_open(&m->code, m->e, more, offsets, n);
}

/* Queries in ascending order of offsets: those of data come last. */
static int name_all(struct namer *m, const struct elf_file *more, struct query *q, size_t n)
{
    size_t code = n;
    while (code && q[code - 1].offset & NAMES_DATA)
        code--;
    int err = m->index || !code ? 0 : open_code(m, more, q, code);
    buf_char(&m->strings, 0); /* string 0 is the empty one */
    for (size_t i = 0; i < code && !err; i++)
        err = name_one(m, i, &q[i]);
    if (code < n && !err)
        err = name_data(m, more, q + code, n - code);
    return !err && m->strings.failed ? -ENOMEM : err;
}

/* Frames in the order of the question. */
static int write_reply(const struct namer *m, const struct query *q, size_t n, struct buf *out)
{
    struct names_header h = {
        .magic = NAMES_MAGIC, .n = (u32)n, .nframes = (u32)m->frames.n, .strings = (u32)m->strings.len};
    size_t at = out->len;
    u32 first = 0;
    buf_add(out, &h, sizeof(h));
    buf_add(out, &first, sizeof(first));
    for (size_t i = 0; i < n; i++) {
        first += q[i].n;
        buf_add(out, &first, sizeof(first));
    }
    while (!out->failed && out->len - at < names_frames_at(n))
        buf_char(out, 0);
    for (size_t i = 0; i < n; i++)
        buf_add(out, m->frames.v + q[i].first, q[i].n * sizeof(*m->frames.v));
    buf_add(out, m->strings.data, m->strings.len);
    return out->failed ? -ENOMEM : 0;
}

static int resolve(struct namer *m, const struct elf_file *more, const u64 *offsets, size_t n, struct buf *out)
{
    if (n > NAMES_MAX_OFFSETS)
        return -ENOSPC;
    AUTO_FREE struct query *q = reallocarray(NULL, n + 1, sizeof(*q));
    if (!q)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        q[i] = (struct query){.offset = offsets[i], .i = (u32)i};
    qsort(q, n, sizeof(*q), by_offset);
    int err = n ? name_all(m, more, q, n) : 0;
    if (err)
        return err;
    qsort(q, n, sizeof(*q), by_place);
    return write_reply(m, q, n, out);
}

int names_resolve_elf(const struct elf_file *e, const struct dwarf_index *lines, const struct elf_file *symbols,
                      enum demangle_style style, const u64 *offsets, size_t n, struct buf *out)
{
    CLEANUP(namer_free) struct namer m = {.e = e, .lines = lines, .style = style};
    return resolve(&m, symbols, offsets, n, out);
}

int names_resolve_index(const struct name_index *index, const struct dwarf_index *lines, enum demangle_style style,
                        const u64 *offsets, size_t n, struct buf *out)
{
    CLEANUP(namer_free)
    struct namer m = {.index = index, .keeps_suffixes = index->h->keep_suffixes, .lines = lines, .style = style};
    return resolve(&m, NULL, offsets, n, out);
}
