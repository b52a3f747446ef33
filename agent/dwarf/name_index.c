#include "dwarf/name_index.h"
#include "dwarf/blocks.h"
#include "dwarf/read.h"
#include <errno.h>

int name_index_open(struct name_index *x, const void *data, size_t len)
{
    const struct name_index_header *h = data;
    if (len < sizeof(*h) || (uintptr_t)data % 8 || h->magic != NAME_INDEX_MAGIC ||
        h->nsegments > NAME_INDEX_MAX_SEGMENTS)
        return -EBADMSG;
    u64 need = sizeof(*h) + sizeof(struct name_index_segment) * (u64)h->nsegments + 4 * (2 * (u64)h->nblocks + 1) +
               h->rows_len;
    if (need != len)
        return -EBADMSG;
    struct name_index v = {.h = h, .segments = (const struct name_index_segment *)(h + 1)};
    v.start = (const u32 *)(v.segments + h->nsegments);
    v.off = v.start + h->nblocks;
    v.rows = (const u8 *)(v.off + h->nblocks + 1);
    *x = v;
    return 0;
}

int name_index_check(const void *data, size_t len)
{
    struct name_index x;
    int err = name_index_open(&x, data, len);
    if (err)
        return err;
    struct name_index_header h = *x.h;
    h.checksum = 0;
    return blocks_checksum(&h, sizeof(h), data, len) == x.h->checksum ? 0 : -EBADMSG;
}

static void read_name(struct cursor *c, struct name_index_text *text, u32 *len)
{
    u64 shared = read_uleb(c), more = read_uleb(c);
    c->bad |= shared > *len || more > sizeof(text->s) - shared;
    const u8 *bytes = cursor_take(c, c->bad ? 0 : more);
    if (!bytes)
        return;
    memcpy(text->s + shared, bytes, more);
    *len = (u32)(shared + more);
}

/* Decodes a block up to the row that holds rel. */
static void decode(const struct name_index *x, size_t block, u32 rel, struct name_index_text *text,
                   struct name_hit *out)
{
    u32 from = x->off[block], to = x->off[block + 1], len = 0;
    u64 at = x->start[block];
    if (from > to || to > x->h->rows_len)
        return;
    struct cursor c = cursor_of(x->rows + from, to - from);
    for (u32 i = 0; i < NAME_INDEX_ROWS && cursor_left(&c); i++) {
        at += read_uleb(&c);
        u8 what = cursor_u8(&c);
        u64 back = what & 8 ? read_uleb(&c) : 0;
        if (at > rel || c.bad)
            return;
        struct name_hit hit = {.kind = (enum name_kind)(what & 7), .start = x->h->base + at - back};
        hit.id = (u64)block * NAME_INDEX_ROWS + i + 1;
        if (hit.kind > NAME_SIZED)
            return;
        if (hit.kind >= NAME_STUB) {
            read_name(&c, text, &len);
            hit.name = text->s;
            hit.len = len;
        }
        if (c.bad)
            return;
        *out = hit;
    }
}

void name_index_find(const struct name_index *x, u64 offset, struct name_index_text *text, struct name_hit *out)
{
    u64 rel = offset - x->h->base;
    size_t block = offset >= x->h->base && rel <= UINT32_MAX ? blocks_find(x->start, x->h->nblocks, (u32)rel) : 0;
    *out = (struct name_hit){0};
    if (block)
        decode(x, block - 1, (u32)rel, text, out);
}

bool name_index_address(const struct name_index *x, u64 offset, u64 *address)
{
    for (u32 i = 0; i < x->h->nsegments; i++) {
        const struct name_index_segment *s = &x->segments[i];
        if (offset - s->offset < s->size) {
            *address = offset - s->offset + s->vaddr;
            return true;
        }
    }
    return false;
}
