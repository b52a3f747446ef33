#include "dwarf/dwarf.h"
#include "dwarf/blocks.h"
#include "dwarf/read.h"
#include <errno.h>

/* ---- The whole -------------------------------------------------------------------------------------------------- */

int dwarf_index_open(struct dwarf_index *x, const void *data, size_t len)
{
    const struct dwarf_index_header *h = data;
    if (len < sizeof(*h) || (uintptr_t)data % 8 || h->magic != DWARF_INDEX_MAGIC)
        return -EBADMSG;
    u64 marks = ((u64)h->nstrings + DWARF_INDEX_STRINGS - 1) / DWARF_INDEX_STRINGS;
    u64 need = sizeof(*h) + 4 * (2 * (u64)h->nblocks + 1) + sizeof(struct dwarf_node) * (u64)h->nnodes +
               4 * ((u64)h->nfiles + marks) + h->rows_len + h->strings_len;
    if (need != len || !h->nnodes || !h->nfiles || !h->nstrings)
        return -EBADMSG;
    struct dwarf_index v = {.h = h, .start = (const u32 *)(h + 1)};
    v.off = v.start + h->nblocks;
    v.nodes = (const struct dwarf_node *)(v.off + h->nblocks + 1);
    v.files = (const u32 *)(v.nodes + h->nnodes);
    v.string_at = v.files + h->nfiles;
    v.rows = (const u8 *)(v.string_at + marks);
    v.strings = v.rows + h->rows_len;
    *x = v;
    return 0;
}

int dwarf_index_check(const void *data, size_t len)
{
    struct dwarf_index x;
    int err = dwarf_index_open(&x, data, len);
    if (err)
        return err;
    struct dwarf_index_header h = *x.h;
    h.checksum = 0;
    return blocks_checksum(&h, sizeof(h), data, len) == x.h->checksum ? 0 : -EBADMSG;
}

/* ---- One address ------------------------------------------------------------------------------------------------ */

struct hit {
    u64 node, file, line;
};

/* Decodes a block up to the row that holds rel. False: none does. */
static bool decode(const struct dwarf_index *x, size_t block, u32 rel, struct hit *out)
{
    u32 from = x->off[block], to = x->off[block + 1];
    u64 at = x->start[block];
    if (from > to || to > x->h->rows_len)
        return false;
    struct cursor c = cursor_of(x->rows + from, to - from);
    unsigned n = cursor_u8(&c);
    struct hit h;
    h.node = read_uleb(&c);
    h.file = read_uleb(&c);
    h.line = read_uleb(&c);
    for (unsigned i = 0; i < n && !c.bad; i++) {
        unsigned control = cursor_u8(&c), delta = control & 63;
        at += delta == 63 ? 63 + read_uleb(&c) : delta;
        if (at > rel)
            return i && !c.bad;
        h.line += (u64)read_sleb(&c);
        h.node += control & 64 ? (u64)read_sleb(&c) : 0;
        h.file += control & 128 ? (u64)read_sleb(&c) : 0;
        *out = h;
    }
    at += read_uleb(&c);
    return !c.bad && n && rel < at;
}

static u32 text(const struct dwarf_index *x, u32 i)
{
    return i < x->h->nstrings ? i : 0;
}

void dwarf_index_text(const struct dwarf_index *x, u32 i, struct dwarf_text *out)
{
    struct cursor c = cursor_of(x->strings, x->h->strings_len);
    size_t len = 0;
    if (i < x->h->nstrings)
        read_seek(&c, x->string_at[i / DWARF_INDEX_STRINGS]);
    for (u32 k = i / DWARF_INDEX_STRINGS * DWARF_INDEX_STRINGS; i < x->h->nstrings && k <= i && !c.bad; k++) {
        u64 shared = read_uleb(&c), more = read_uleb(&c);
        const u8 *bytes = cursor_take(&c, more);
        c.bad |= shared > len || more > DWARF_INDEX_MAX_TEXT - shared;
        if (c.bad)
            break;
        memcpy(out->s + shared, bytes, more);
        len = shared + more;
    }
    out->len = c.bad ? 0 : len;
    out->s[out->len] = 0;
}

unsigned dwarf_index_find(const struct dwarf_index *x, u64 address, struct dwarf_frame out[DWARF_INDEX_MAX_FRAMES])
{
    struct hit h = {0};
    u64 rel = address - x->h->base;
    size_t block = address >= x->h->base && rel <= UINT32_MAX ? blocks_find(x->start, x->h->nblocks, (u32)rel) : 0;
    unsigned n = 0;
    if (!block || !decode(x, block - 1, (u32)rel, &h))
        return 0;
    while (n < DWARF_INDEX_MAX_FRAMES && h.node < x->h->nnodes) {
        const struct dwarf_node *node = &x->nodes[h.node];
        u32 file = h.file < x->h->nfiles ? x->files[h.file] : 0;
        out[n++] = (struct dwarf_frame){text(x, node->name), text(x, file), (u32)h.line};
        if (!node->up || node->up > h.node)
            break;
        h = (struct hit){h.node - node->up, (u64)node->file_hi << 16 | node->file_lo, node->line};
    }
    return n;
}
