#include "object/names.h"
#include "base/cleanup.h"
#include "object/cfi.h"
#include "object/cfi_sort.h"
#include "object/demangle.h"
#include "object/names_elf.h"
#include "object/symbols.h"
#include <errno.h>

/* first[] is padded to a multiple of 8 bytes: frames begin with a u64. */
static size_t frames_at(size_t n)
{
    return (sizeof(struct names_header) + 4 * (n + 1) + 7) & ~(size_t)7;
}

struct query {
    u64 offset;
    u32 i; /* its place in the question */
};

static int by_offset(const void *a, const void *b)
{
    const struct query *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset ? 1 : x->i < y->i ? -1 : x->i > y->i;
}

struct namer {
    struct cfi cfi; /* read when the first offset has no sized symbol */
    bool have_cfi;
    struct buf strings;
    const char *last; /* the symbol name that strings' newest two entries are for */
    u32 name, system_name;
};

static int read_cfi(struct namer *m, const struct elf_file *e)
{
    if (m->have_cfi)
        return 0;
    m->have_cfi = true;
    int err = cfi_read(&m->cfi, e, CFI_MAX_FDES);
    return err == -ENOMEM ? err : 0; /* names without FDEs are better than none */
}

/* Adds the two forms of a name; offsets of one function come one after the other. */
static void add_name(struct namer *m, const struct symbol *s)
{
    if (m->last == s->name)
        return;
    m->last = s->name;
    m->system_name = (u32)m->strings.len;
    append_utf8(&m->strings, s->name, s->len);
    buf_char(&m->strings, 0);
    m->name = (u32)m->strings.len;
    if (demangle(s->name, s->len, DEMANGLE_FULL, &m->strings)) {
        buf_char(&m->strings, 0);
    } else {
        m->strings.len = m->name;
        m->name = m->system_name;
    }
}

/* A symbol with a size is believed; one without only if no FDE begins between it and the offset. */
static int name_one(struct namer *m, const struct elf_file *e, u64 offset, const struct symbol *s,
                    struct names_frame *out)
{
    *out = (struct names_frame){.start = offset};
    if (!s->name || !s->sized) {
        int err = read_cfi(m, e);
        if (err)
            return err;
        const struct cfi_fde *f = cfi_fde_at(&m->cfi, offset);
        if (f && (!s->name || f->start > s->start)) {
            out->start = f->start;
            return 0;
        }
        if (!s->name)
            return 0;
    }
    add_name(m, s);
    out->start = s->start;
    out->name = m->name;
    out->system_name = m->system_name;
    return m->strings.len > INT32_MAX ? -ENOSPC : 0;
}

static void namer_free(struct namer *m)
{
    cfi_free(&m->cfi);
    buf_free(&m->strings);
}

/* offsets and symbols in ascending order; frames in the order of the question. */
static int name_all(const struct elf_file *e, const struct query *q, size_t n, struct names_frame *frames,
                    struct buf *strings)
{
    AUTO_FREE u64 *offsets = reallocarray(NULL, n, sizeof(*offsets));
    AUTO_FREE struct symbol *symbols = reallocarray(NULL, n, sizeof(*symbols));
    if (!offsets || !symbols)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        offsets[i] = q[i].offset;
    int err = symbols_find(e, offsets, n, symbols);
    CLEANUP(namer_free) struct namer m = {0};
    buf_char(&m.strings, 0); /* string 0 is the empty one */
    for (size_t i = 0; i < n && !err; i++)
        err = name_one(&m, e, q[i].offset, &symbols[i], &frames[q[i].i]);
    if (!err && m.strings.failed)
        err = -ENOMEM;
    if (err)
        return err;
    *strings = m.strings;
    m.strings = (struct buf){0};
    return 0;
}

static int write_reply(const struct names_frame *frames, size_t n, const struct buf *strings, struct buf *out)
{
    struct names_header h = {.magic = NAMES_MAGIC, .n = (u32)n, .nframes = (u32)n, .strings = (u32)strings->len};
    size_t at = out->len;
    buf_add(out, &h, sizeof(h));
    for (u32 i = 0; i <= n; i++) /* one frame an offset, so far */
        buf_add(out, &i, sizeof(i));
    while (!out->failed && out->len - at < frames_at(n))
        buf_char(out, 0);
    buf_add(out, frames, n * sizeof(*frames));
    buf_add(out, strings->data, strings->len);
    return out->failed ? -ENOMEM : 0;
}

int names_resolve_elf(const struct elf_file *e, const u64 *offsets, size_t n, struct buf *out)
{
    if (n > NAMES_MAX_OFFSETS)
        return -ENOSPC;
    AUTO_FREE struct query *q = reallocarray(NULL, n + 1, sizeof(*q));
    AUTO_FREE struct names_frame *frames = reallocarray(NULL, n + 1, sizeof(*frames));
    AUTO_BUF struct buf strings = {0};
    if (!q || !frames)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        q[i] = (struct query){offsets[i], (u32)i};
    qsort(q, n, sizeof(*q), by_offset);
    int err = n ? name_all(e, q, n, frames, &strings) : 0;
    return err ? err : write_reply(frames, n, &strings, out);
}

int names_resolve(int fd, const u64 *offsets, size_t n, struct buf *out)
{
    AUTO_ELF struct elf_file e = {0};
    int err = elf_open(&e, fd);
    return err ? err : names_resolve_elf(&e, offsets, n, out);
}

static bool frames_sound(const struct names_header *h, const struct names *v)
{
    for (u32 i = 0; i < h->n; i++)
        if (v->first[i] > v->first[i + 1])
            return false;
    if (v->first[0] != 0 || v->first[h->n] != h->nframes)
        return false;
    for (u32 i = 0; i < h->nframes; i++) {
        const struct names_frame *f = &v->frames[i];
        if (f->name >= h->strings || f->system_name >= h->strings || f->file >= h->strings)
            return false;
    }
    return true;
}

int names_view(const void *reply, size_t len, size_t n, struct names *out)
{
    struct names_header h;
    if (len < sizeof(h) || (uintptr_t)reply & 7)
        return -EBADMSG;
    memcpy(&h, reply, sizeof(h));
    size_t frames = frames_at(h.n), strings = frames + sizeof(struct names_frame) * (size_t)h.nframes;
    if (h.magic != NAMES_MAGIC || h.n != n || len != strings + h.strings)
        return -EBADMSG;
    struct names v = {
        .first = (const u32 *)((const char *)reply + sizeof(h)),
        .frames = (const struct names_frame *)((const char *)reply + frames),
        .strings = (const char *)reply + strings,
        .n = h.n,
    };
    /* No frame needs a string; if there are strings, the last one ends. */
    if ((h.strings && v.strings[h.strings - 1]) || !frames_sound(&h, &v))
        return -EBADMSG;
    *out = v;
    return 0;
}
