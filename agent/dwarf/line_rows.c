/* Rows are encoded in blocks, blocks gathered in chunks, chunks sorted into the image. The format is in dwarf.h.
 */
#include "base/cleanup.h"
#include "dwarf/blocks.h"
#include "dwarf/build.h"
#include <errno.h>

#define MAX_ROW_BYTES 42 /* a control byte and four LEB128 */

static u8 *put_uleb(u8 *p, u64 v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (u8)v | 0x80;
    *p++ = (u8)v;
    return p;
}

static u8 *put_sleb(u8 *p, s64 v)
{
    for (; v < -64 || v > 63; v >>= 7)
        *p++ = (u8)v | 0x80;
    *p++ = (u8)(v & 0x7f);
    return p;
}

static u8 *put_delta(u8 *p, const struct dwarf_out_row *r, const struct dwarf_out_row *before)
{
    u64 delta = r->address - before->address;
    bool node = r->node != before->node, file = r->file != before->file;
    *p++ = (u8)((delta < 63 ? delta : 63) | (u64)node << 6 | (u64)file << 7);
    if (delta >= 63)
        p = put_uleb(p, delta - 63);
    p = put_sleb(p, (s64)r->line - before->line);
    if (node)
        p = put_sleb(p, (s64)r->node - before->node);
    return file ? put_sleb(p, (s64)r->file - before->file) : p;
}

static size_t size_so_far(const struct dwarf_builder *b)
{
    return b->rows.n + b->strings.n + 8 * b->blocks.n + 4 * b->files.n + sizeof(struct dwarf_node) * b->nodes.n;
}

/* Writes the pending rows as a block; the last of them ends at `end`. */
static int flush(struct dwarf_builder *b, u64 end)
{
    const struct dwarf_out_row *r = b->pending;
    if (!b->npending)
        return 0;
    if (size_so_far(b) > b->limits->max_bytes) {
        b->cuts |= DWARF_CUT_BYTES;
        return -ENOSPC;
    }
    struct dwarf_block *block = VEC_PUSH(&b->blocks);
    if (!block || VEC_RESERVE(&b->rows, b->rows.n + (size_t)MAX_ROW_BYTES * (DWARF_INDEX_BLOCK_ROWS + 1)))
        return -ENOMEM;
    *block = (struct dwarf_block){r->address, (u32)b->rows.n};
    u8 *p = b->rows.v + b->rows.n;
    *p++ = (u8)b->npending;
    p = put_uleb(put_uleb(put_uleb(p, r->node), r->file), r->line);
    for (unsigned i = 0; i < b->npending; i++)
        p = put_delta(p, &r[i], &r[i ? i - 1 : 0]);
    p = put_uleb(p, end - r[b->npending - 1].address);
    b->rows.n = (size_t)(p - b->rows.v);
    b->npending = 0;
    return 0;
}

int dwarf_put_row(struct dwarf_builder *b, u64 address, u32 node, u32 file, u32 line)
{
    const struct dwarf_out_row *last = b->npending ? &b->pending[b->npending - 1] : NULL;
    if (last && last->node == node && last->file == file && last->line == line)
        return 0;
    b->has_function |= node != 0;
    int err = b->npending == DWARF_INDEX_BLOCK_ROWS ? flush(b, address) : 0;
    if (!err)
        b->pending[b->npending++] = (struct dwarf_out_row){address, node, file, line};
    return err;
}

void dwarf_begin_chunk(struct dwarf_builder *b, u64 lo)
{
    b->chunk_block = (u32)b->blocks.n;
    b->chunk_lo = lo;
    b->has_function = false;
}

int dwarf_end_chunk(struct dwarf_builder *b, u64 hi)
{
    int err = flush(b, hi);
    struct dwarf_chunk *c = err ? NULL : VEC_PUSH(&b->chunks);
    if (!c)
        return err ? err : -ENOMEM;
    *c = (struct dwarf_chunk){.lo = b->chunk_lo,
                              .hi = hi,
                              .block = b->chunk_block,
                              .nblocks = (u32)b->blocks.n - b->chunk_block,
                              .seq = (u32)b->chunks.n - 1,
                              .lines_only = !b->has_function};
    return 0;
}

/* ---- The image -------------------------------------------------------------------------------------------------- */

static int by_start(const void *x, const void *y)
{
    const struct dwarf_chunk *a = x, *b = y;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->seq < b->seq ? -1 : 1;
}

static u32 block_end(const struct dwarf_builder *b, u32 i)
{
    return i + 1 < b->blocks.n ? b->blocks.v[i + 1].off : (u32)b->rows.n;
}

/* Sorts the chunks and leaves out those that begin inside of an earlier one, or too far from the first. */
static void choose_chunks(struct dwarf_builder *b, struct dwarf_index_header *h)
{
    struct dwarf_chunk *v = b->chunks.v;
    size_t kept = 0;
    if (!b->chunks.n)
        return;
    qsort(v, b->chunks.n, sizeof(*v), by_start);
    h->base = v[0].lo;
    for (size_t i = 0; i < b->chunks.n; i++) {
        bool overlaps = kept && v[i].lo < v[kept - 1].hi;
        if (overlaps && v[kept - 1].lines_only && !v[i].lines_only) {
            kept--;
            overlaps = kept && v[i].lo < v[kept - 1].hi;
        }
        if (!overlaps && v[i].hi - h->base <= UINT32_MAX)
            v[kept++] = v[i];
    }
    b->chunks.n = kept;
    for (const struct dwarf_chunk *c = v; c < v + kept; c++) {
        h->nblocks += c->nblocks;
        h->rows_len += c->nblocks ? block_end(b, c->block + c->nblocks - 1) - b->blocks.v[c->block].off : 0;
    }
}

static void copy_blocks(const struct dwarf_builder *b, const struct dwarf_index_header *h, u32 *start, u32 *off,
                        u8 *rows)
{
    u32 k = 0, at = 0;
    for (size_t i = 0; i < b->chunks.n; i++) {
        const struct dwarf_chunk *c = &b->chunks.v[i];
        for (u32 j = c->block; j < c->block + c->nblocks; j++) {
            u32 from = b->blocks.v[j].off, len = block_end(b, j) - from;
            start[k] = (u32)(b->blocks.v[j].start - h->base);
            off[k++] = at;
            memcpy(rows + at, b->rows.v + from, len);
            at += len;
        }
    }
    off[k] = at;
}

int dwarf_finish(struct dwarf_builder *b, u64 debug_bytes, void **out, size_t *len)
{
    CLEANUP(dwarf_strings_free) struct dwarf_strings s = {0};
    if (dwarf_strings_make(b, &s))
        return -ENOMEM;
    struct dwarf_index_header h = {.magic = DWARF_INDEX_MAGIC,
                                   .nnodes = (u32)b->nodes.n,
                                   .nfiles = (u32)b->files.n,
                                   .nstrings = (u32)s.n,
                                   .strings_len = (u32)s.bytes.n,
                                   .cuts = b->cuts,
                                   .functions = b->functions,
                                   .debug_bytes = debug_bytes};
    choose_chunks(b, &h);
    size_t nodes = sizeof(*b->nodes.v) * b->nodes.n, files = 4 * b->files.n, blocks = 4 * (2 * (size_t)h.nblocks + 1);
    size_t total = sizeof(h) + blocks + nodes + files + 4 * s.nmarks + h.rows_len + s.bytes.n;
    AUTO_FREE u8 *image = malloc(total);
    if (!image)
        return -ENOMEM;
    u32 *start = (u32 *)(image + sizeof(h));
    u8 *p = image + sizeof(h) + blocks;
    memcpy(p, b->nodes.v, nodes);
    memcpy(p + nodes, b->files.v, files);
    memcpy(p + nodes + files, s.marks, 4 * s.nmarks);
    p += nodes + files + 4 * s.nmarks;
    copy_blocks(b, &h, start, start + h.nblocks, p);
    memcpy(p + h.rows_len, s.bytes.v, s.bytes.n);
    h.checksum = blocks_checksum(&h, sizeof(h), image, total);
    memcpy(image, &h, sizeof(h));
    *len = total;
    *out = TAKE_PTR(image);
    return 0;
}
