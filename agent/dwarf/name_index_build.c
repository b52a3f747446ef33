/* Builds a name index: a sweep over the code of a file, from one place to the next where another function begins. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "cfi/cfi.h"
#include "dwarf/blocks.h"
#include "dwarf/name_index.h"
#include "elf/plt.h"
#include <errno.h>
#include <string.h>

#define MAX_SYMBOLS ((size_t)2 << 20) /* a browser with all symbols has 1 million */
#define MAX_STUBS   (1u << 20)
#define ROOM        (64u << 10) /* bytes of an index that a file of any size may have */

struct stub {
    u64 start, end; /* file offsets */
    const char *name;
    u32 len;
};

struct builder {
    const struct elf_file *e;
    struct symbol *symbols;
    size_t nsymbols;
    VEC(u32) open; /* sized symbols around `at`, the innermost one last, perhaps with some that have ended */
    const struct symbol *label;              /* the last symbol, if it has no size */
    VEC(struct name_index_segment) segments; /* of code */
    struct cfi cfi;
    VEC(struct stub) stubs;
    size_t fde, stub; /* the first ones that end after `at` */
    u64 at;

    struct buf rows;
    VEC(u32) start;
    VEC(u32) off;
    unsigned in_block;
    u64 base, last_at;
    struct name_hit last, named; /* the row before; the name before, in its block */
    size_t max_bytes;
};

static void builder_free(struct builder *b)
{
    free(b->symbols);
    vec_free(&b->segments);
    vec_free(&b->open);
    cfi_free(&b->cfi);
    vec_free(&b->stubs);
    buf_free(&b->rows);
    vec_free(&b->start);
    vec_free(&b->off);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

static void put_uleb(struct buf *b, u64 v)
{
    for (; v >= 0x80; v >>= 7)
        buf_char(b, (char)(v | 0x80));
    buf_char(b, (char)v);
}

static u32 shared(const struct name_hit *a, const struct name_hit *b)
{
    u32 n = 0, max = a->len < b->len ? a->len : b->len;
    if (a->name == b->name)
        return max;
    while (n + 8 <= max && !memcmp(a->name + n, b->name + n, 8))
        n += 8;
    while (n < max && a->name[n] == b->name[n])
        n++;
    return n;
}

static int begin_block(struct builder *b)
{
    u32 *start = VEC_PUSH(&b->start), *off = VEC_PUSH(&b->off);
    if (!start || !off)
        return -ENOMEM;
    *start = (u32)(b->at - b->base);
    *off = (u32)b->rows.len;
    b->in_block = 0;
    b->last_at = b->at;
    b->named = (struct name_hit){0};
    return 0;
}

/* From here on, this applies. */
static int put_row(struct builder *b, struct name_hit hit)
{
    if (hit.kind == b->last.kind && hit.start == b->last.start && hit.name == b->last.name)
        return 0;
    b->base = b->start.n ? b->base : b->at;
    if (b->at - b->base > UINT32_MAX || b->rows.len > b->max_bytes)
        return -ENOSPC;
    if ((!b->start.n || b->in_block == NAME_INDEX_ROWS) && begin_block(b))
        return -ENOMEM;
    u64 back = hit.kind == NAME_NONE ? 0 : b->at - hit.start;
    put_uleb(&b->rows, b->at - b->last_at);
    buf_char(&b->rows, (char)(hit.kind | (back ? 8 : 0)));
    if (back)
        put_uleb(&b->rows, back);
    if (hit.kind >= NAME_STUB) {
        u32 same = shared(&b->named, &hit);
        put_uleb(&b->rows, same);
        put_uleb(&b->rows, hit.len - same);
        buf_add(&b->rows, hit.name + same, hit.len - same);
        b->named = hit;
    }
    b->in_block++;
    b->last_at = b->at;
    b->last = hit;
    return b->rows.failed ? -ENOMEM : 0;
}

/* ---- The sweep -------------------------------------------------------------------------------------------------- */

static struct name_hit hit_of(const struct symbol *s)
{
    return (struct name_hit){
        .kind = s->sized ? NAME_SIZED : NAME_LABEL, .start = s->start, .name = s->name, .len = s->len};
}

static u64 nearest(u64 end, bool inside, u64 from, u64 to)
{
    u64 next = inside ? to : from;
    return next < end ? next : end;
}

/* What no sized symbol covers, up to `end`. `label` may be NULL. */
static int sweep_gap(struct builder *b, u64 end, const struct symbol *label)
{
    int err = 0;
    while (b->at < end && !err) {
        while (b->fde < b->cfi.fdes.n && b->cfi.fdes.v[b->fde].start + b->cfi.fdes.v[b->fde].len <= b->at)
            b->fde++;
        while (b->stub < b->stubs.n && b->stubs.v[b->stub].end <= b->at)
            b->stub++;
        const struct cfi_fde *f = b->fde < b->cfi.fdes.n ? &b->cfi.fdes.v[b->fde] : NULL;
        const struct stub *s = b->stub < b->stubs.n ? &b->stubs.v[b->stub] : NULL;
        bool in_fde = f && f->start <= b->at, in_stub = s && s->start <= b->at;
        struct name_hit hit = {0};
        u64 next = f ? nearest(end, in_fde, f->start, f->start + f->len) : end;
        next = s ? nearest(next, in_stub, s->start, s->end) : next;
        if (label && !(in_fde && f->start > label->start))
            hit = hit_of(label);
        else if (in_stub)
            hit = (struct name_hit){.kind = NAME_STUB, .start = s->start, .name = s->name, .len = s->len};
        else if (in_fde)
            hit = (struct name_hit){.kind = NAME_FDE, .start = f->start};
        err = put_row(b, hit);
        b->at = next;
    }
    return err;
}

static int sweep_to(struct builder *b, u64 to)
{
    int err = 0;
    while (b->at < to && !err) {
        while (b->open.n && b->symbols[b->open.v[b->open.n - 1]].end <= b->at)
            b->open.n--;
        const struct symbol *inner = b->open.n ? &b->symbols[b->open.v[b->open.n - 1]] : NULL;
        const struct symbol *label = b->label && b->at < b->label->end ? b->label : NULL;
        if (inner) {
            err = put_row(b, hit_of(inner));
            b->at = inner->end < to ? inner->end : to;
        } else {
            err = sweep_gap(b, label && label->end < to ? label->end : to, label);
        }
    }
    return err;
}

/* Where all sources begin and end. */
static void extent(const struct builder *b, u64 *from, u64 *to)
{
    *from = UINT64_MAX;
    *to = 0;
    if (b->nsymbols)
        *from = b->symbols[0].start;
    for (size_t i = 0; i < b->nsymbols; i++)
        *to = b->symbols[i].end > *to ? b->symbols[i].end : *to;
    if (b->cfi.fdes.n) {
        const struct cfi_fde *first = &b->cfi.fdes.v[0], *last = &b->cfi.fdes.v[b->cfi.fdes.n - 1];
        *from = first->start < *from ? first->start : *from;
        *to = last->start + last->len > *to ? last->start + last->len : *to;
    }
    if (b->stubs.n) {
        *from = b->stubs.v[0].start < *from ? b->stubs.v[0].start : *from;
        for (size_t i = 0; i < b->stubs.n; i++)
            *to = b->stubs.v[i].end > *to ? b->stubs.v[i].end : *to;
    }
}

/* Symbols are sorted so that the innermost of those that are open is the one that was opened last. */
static int sweep(struct builder *b)
{
    u64 end;
    int err = 0;
    extent(b, &b->at, &end);
    for (size_t i = 0; i < b->nsymbols && !err; i++) {
        const struct symbol *s = &b->symbols[i];
        err = sweep_to(b, s->start);
        b->label = s->sized ? NULL : s;
        u32 *place = s->sized ? VEC_PUSH(&b->open) : NULL;
        if (place)
            *place = (u32)i;
        else if (s->sized)
            err = -ENOMEM;
    }
    err = err ? err : sweep_to(b, end);
    return err || !b->start.n ? err : put_row(b, (struct name_hit){0});
}

/* ---- Sources ---------------------------------------------------------------------------------------------------- */

static int add_stub(void *builder, u64 address, u32 len, const char *name, size_t name_len)
{
    struct builder *b = builder;
    const struct elf_segment *seg = elf_segment_at(b->e, address, PF_X);
    if (!seg)
        return 0;
    struct stub *s = b->stubs.n < MAX_STUBS ? VEC_PUSH(&b->stubs) : NULL;
    if (!s)
        return b->stubs.n < MAX_STUBS ? -ENOMEM : -ENOSPC;
    u64 start = address - seg->vaddr + seg->offset;
    *s = (struct stub){start, start + len, name, name_len < SYMBOLS_MAX_NAME ? (u32)name_len : (u32)SYMBOLS_MAX_NAME};
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct stub *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int add_stubs(struct builder *b)
{
    struct plt *plt = NULL;
    int err = plt_read(&plt, b->e);
    if (err)
        return err == -ENODATA ? 0 : err;
    err = plt_each(plt, add_stub, b);
    plt_free(&plt);
    if (b->stubs.n)
        qsort(b->stubs.v, b->stubs.n, sizeof(*b->stubs.v), by_start);
    return err;
}

static int add_sources(struct builder *b, const struct elf_file *more)
{
    int err = symbols_list(b->e, more, MAX_SYMBOLS, &b->symbols, &b->nsymbols);
    if (!err)
        err = cfi_read(&b->cfi, b->e, CFI_MAX_FDES) == -ENOMEM ? -ENOMEM : 0;
    return err ? err : add_stubs(b);
}

static int write_index(struct builder *b, bool runtime, bool keep_suffixes, void **out, size_t *len)
{
    AUTO_BUF struct buf image = {0};
    struct name_index_header h = {.magic = NAME_INDEX_MAGIC,
                                  .nblocks = (u32)b->start.n,
                                  .rows_len = (u32)b->rows.len,
                                  .nsegments = (u32)b->segments.n,
                                  .runtime = runtime,
                                  .keep_suffixes = keep_suffixes,
                                  .base = b->base};
    u32 end = (u32)b->rows.len;
    if (b->segments.n > NAME_INDEX_MAX_SEGMENTS)
        return -ENOSPC;
    buf_add(&image, &h, sizeof(h));
    if (b->segments.n)
        buf_add(&image, b->segments.v, b->segments.n * sizeof(*b->segments.v));
    buf_add(&image, b->start.v, b->start.n * sizeof(u32));
    buf_add(&image, b->off.v, b->off.n * sizeof(u32));
    buf_add(&image, &end, sizeof(end));
    buf_add(&image, b->rows.data, b->rows.len);
    if (image.failed)
        return -ENOMEM;
    h.checksum = blocks_checksum(&h, sizeof(h), image.data, image.len);
    memcpy(image.data, &h, sizeof(h));
    *len = image.len;
    *out = TAKE_PTR(image.data);
    return 0;
}

static int add_segments(struct builder *b)
{
    for (size_t i = 0; i < b->e->nloads; i++) {
        const struct elf_segment *s = &b->e->loads[i];
        struct name_index_segment *to = s->flags & PF_X ? VEC_PUSH(&b->segments) : NULL;
        if (to)
            *to = (struct name_index_segment){s->offset, s->vaddr, s->filesz};
        else if (s->flags & PF_X)
            return -ENOMEM;
    }
    return 0;
}

static size_t limit(size_t bytes)
{
    return bytes < NAME_INDEX_MAX_BYTES - ROOM ? bytes + ROOM : NAME_INDEX_MAX_BYTES;
}

int name_index_build(const struct elf_file *e, const struct elf_file *more, bool runtime, void **out, size_t *len)
{
    CLEANUP(builder_free) struct builder b = {.e = e, .last = {.kind = NAME_NONE}};
    struct elf_section go;
    b.max_bytes = limit(e->size + (more ? more->size : 0));
    int err = add_sources(&b, more);
    if (!err)
        err = add_segments(&b);
    if (!err)
        err = sweep(&b);
    return err ? err : write_index(&b, runtime, elf_section(e, ".gopclntab", &go), out, len);
}

int name_index_of(struct symbol *symbols, size_t n, const struct name_index_segment *segments, size_t nsegments,
                  size_t max_bytes, void **out, size_t *len)
{
    CLEANUP(builder_free)
    struct builder b = {.symbols = symbols, .nsymbols = n, .last = {.kind = NAME_NONE}, .max_bytes = limit(max_bytes)};
    for (size_t i = 0; i < nsegments; i++) {
        struct name_index_segment *to = VEC_PUSH(&b.segments);
        if (!to)
            return -ENOMEM;
        *to = segments[i];
    }
    int err = sweep(&b);
    return err ? err : write_index(&b, false, true, out, len);
}
