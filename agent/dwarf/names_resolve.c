#include "dwarf/names.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "cfi/cfi.h"
#include "dwarf/demangle.h"
#include "elf/mini_debug.h"
#include "dwarf/names_elf.h"
#include "elf/plt.h"
#include "elf/symbols.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

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
    const struct elf_file *e;
    const struct dwarf_index *lines; /* NULL: none */
    const struct elf_file *more;     /* symbols of its debug file; NULL: none */
    enum demangle_style style;
    struct cfi cfi;  /* read when the first offset has no sized symbol */
    struct plt *plt; /* read when the first offset has no name at all */
    bool have_cfi, have_plt, keeps_suffixes;
    struct buf strings;
    const char *last; /* the symbol name that last_text is of */
    struct text last_text;
    struct map texts; /* names (even) and files (odd) of the index -> struct text */
    VEC(struct names_frame) frames;
};

static void namer_free(struct namer *m)
{
    cfi_free(&m->cfi);
    plt_free(&m->plt);
    buf_free(&m->strings);
    map_free(&m->texts);
    vec_free(&m->frames);
}

static int read_cfi(struct namer *m)
{
    if (m->have_cfi)
        return 0;
    m->have_cfi = true;
    int err = cfi_read(&m->cfi, m->e, CFI_MAX_FDES);
    return err == -ENOMEM ? err : 0; /* names without FDEs are better than none */
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

/* Offsets of one function come one after the other. */
static struct text symbol_text(struct namer *m, const struct symbol *s)
{
    if (m->last != s->name)
        m->last_text = add_name(m, s->name, s->len);
    m->last = s->name;
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

/* What no symbol and no debug information knows may be a stub of the PLT. */
static int name_stub(struct namer *m, u64 offset, struct names_frame *f)
{
    const struct elf_segment *seg = elf_segment_of(m->e, offset, PF_X);
    size_t len;
    u64 start;
    if (!m->have_plt && plt_read(&m->plt, m->e) == -ENOMEM)
        return -ENOMEM;
    m->have_plt = true;
    const char *name = m->plt && seg ? plt_find(m->plt, offset - seg->offset + seg->vaddr, &len, &start) : NULL;
    if (!name)
        return 0;
    f->start = start - seg->vaddr + seg->offset;
    f->system_name = (u32)m->strings.len;
    append_utf8(&m->strings, name, len);
    buf_add(&m->strings, "@plt", sizeof("@plt"));
    f->name = (u32)m->strings.len;
    demangle(name, len, m->style, &m->strings);
    buf_add(&m->strings, "@plt", sizeof("@plt"));
    return 0;
}

/* The function itself, around whatever is inlined into it. A sized symbol is believed first: it is what other tools
 * show, the debug information has no mangled name for a static function, and functions that the linker folded have one
 * symbol but many entries. One without size counts only if neither the debug information nor an FDE knows better. */
static int name_function(struct namer *m, const struct symbol *s, u64 offset, struct names_frame *f)
{
    bool believe = s->name && s->sized;
    if (!believe && !f->name) {
        int err = read_cfi(m);
        if (err)
            return err;
        const struct cfi_fde *fde = cfi_fde_at(&m->cfi, offset);
        believe = s->name && !(fde && fde->start > s->start);
        f->start = !believe && fde ? fde->start : offset;
    }
    if (believe) {
        struct text t = symbol_text(m, s);
        f->start = s->start;
        f->name = t.name;
        f->system_name = t.system_name;
    }
    return f->name ? 0 : name_stub(m, offset, f);
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
    const struct elf_segment *seg = m->lines ? elf_segment_of(m->e, offset, PF_X) : NULL;
    return seg ? dwarf_index_find(m->lines, offset - seg->offset + seg->vaddr, chain) : 0;
}

static int name_one(struct namer *m, struct query *q, const struct symbol *s)
{
    struct dwarf_frame chain[DWARF_INDEX_MAX_FRAMES] = {0};
    unsigned n = find_lines(m, q->offset, chain);
    q->first = (u32)m->frames.n;
    q->n = n ? n : 1;
    for (unsigned i = 0; i < q->n; i++) {
        struct names_frame *f = push_frame(m);
        if (!f)
            return m->frames.n < MAX_FRAMES ? -ENOMEM : -ENOSPC;
        struct text t = index_text(m, chain[i].name, false);
        *f = (struct names_frame){.start = s->name ? s->start : q->offset,
                                  .name = t.name,
                                  .system_name = t.system_name,
                                  .file = index_text(m, chain[i].file, true).name,
                                  .line = chain[i].line};
    }
    int err = name_function(m, s, q->offset, &m->frames.v[m->frames.n - 1]);
    return !err && m->strings.len > INT32_MAX ? -ENOSPC : err;
}

/* Queries in ascending order of offsets. */
static int name_all(struct namer *m, struct query *q, size_t n)
{
    AUTO_FREE u64 *offsets = reallocarray(NULL, n, sizeof(*offsets));
    AUTO_FREE struct symbol *symbols = reallocarray(NULL, n, sizeof(*symbols));
    struct elf_section go;
    if (!offsets || !symbols)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        offsets[i] = q[i].offset;
    int err = symbols_find(m->e, m->more, offsets, n, symbols);
    m->keeps_suffixes = elf_section(m->e, ".gopclntab", &go); /* main.cold is a function of the user's there */
    buf_char(&m->strings, 0);                                 /* string 0 is the empty one */
    for (size_t i = 0; i < n && !err; i++)
        err = name_one(m, &q[i], &symbols[i]);
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

int names_resolve_elf(const struct elf_file *e, const struct dwarf_index *lines, const struct elf_file *symbols,
                      enum demangle_style style, const u64 *offsets, size_t n, struct buf *out)
{
    if (n > NAMES_MAX_OFFSETS)
        return -ENOSPC;
    AUTO_FREE struct query *q = reallocarray(NULL, n + 1, sizeof(*q));
    CLEANUP(namer_free) struct namer m = {.e = e, .lines = lines, .more = symbols, .style = style};
    if (!q)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        q[i] = (struct query){.offset = offsets[i], .i = (u32)i};
    qsort(q, n, sizeof(*q), by_offset);
    int err = n ? name_all(&m, q, n) : 0;
    if (err)
        return err;
    qsort(q, n, sizeof(*q), by_place);
    return write_reply(&m, q, n, out);
}

/* An index that makes no sense is none. */
static void *map_index(int fd, size_t *len, struct dwarf_index *x)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)
        return NULL;
    *len = (size_t)st.st_size;
    void *map = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return NULL;
    if (!dwarf_index_open(x, map, *len))
        return map;
    munmap(map, *len);
    return NULL;
}

/* What was stripped: in a debug file, or compressed in the file itself. */
static bool open_symbols(const struct elf_file *e, int fd, struct elf_bytes *bytes, struct elf_file *out)
{
    struct elf_section s;
    if (fd >= 0 && !elf_open(out, fd))
        return true;
    return !elf_section(e, ".symtab", &s) && !mini_debug_open(e, bytes, out);
}

int names_resolve(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_BYTES struct elf_bytes bytes = {0};
    AUTO_ELF struct elf_file symbols = {0};
    struct dwarf_index x;
    size_t len = 0;
    int err = elf_open(&e, f->file);
    if (err)
        return err;
    bool more = open_symbols(&e, f->symbols, &bytes, &symbols);
    void *map = map_index(f->index, &len, &x);
    err = names_resolve_elf(&e, map ? &x : NULL, more ? &symbols : NULL,
                            f->short_names ? DEMANGLE_SHORT : DEMANGLE_FULL, offsets, n, out);
    if (map)
        munmap(map, len);
    return err;
}
