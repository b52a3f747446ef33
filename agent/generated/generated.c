#include "generated/generated.h"
#include "base/cleanup.h"
#include "cfi/table.h"
#include "generated/descriptor.h"
#include "generated/regions.h"
#include <errno.h>
#include <string.h>

#define MAGIC 0x31474e47u /* "GNG1" */

/* The reply: this, the regions, their images, the text. Images are aligned to 8 bytes. */
struct head {
    u32 magic, nregions;
    u64 text_at, text_len;
};
struct place {
    u64 start, end, at, len;
};

static void write_reply(const struct regions *r, const struct buf *text, struct buf *out)
{
    struct head h = {.magic = MAGIC, .nregions = (u32)r->list.n, .text_len = text->len};
    u64 at = sizeof(h) + r->list.n * sizeof(struct place);
    size_t from = out->len;
    h.text_at = at;
    for (size_t i = 0; i < r->list.n; i++)
        h.text_at += (r->list.v[i].len + 7) & ~(u64)7;
    buf_add(out, &h, sizeof(h));
    for (size_t i = 0; i < r->list.n; i++) {
        const struct region *one = &r->list.v[i];
        struct place p = {one->start, one->end, at, one->len};
        buf_add(out, &p, sizeof(p));
        at += (one->len + 7) & ~(u64)7;
    }
    for (size_t i = 0; i < r->list.n; i++) {
        buf_add(out, r->list.v[i].image, r->list.v[i].len);
        while (!out->failed && (out->len - from) & 7)
            buf_char(out, 0);
    }
    buf_add(out, text->data, text->len);
}

static bool has_code(const struct memory *m)
{
    for (size_t i = 0; i < m->maps.n; i++)
        if (mapping_is_code(&m->maps.v[i]))
            return true;
    return false;
}

/* Objects that are shown to debuggers come first: they are in use, while memory may hold remains of others. */
int generated_read(int mem, int maps, int program, struct buf *out)
{
    CLEANUP(memory_free) struct memory m;
    CLEANUP(sections_free) struct sections s = {0};
    CLEANUP(regions_free) struct regions r = {0};
    AUTO_BUF struct buf text = {0};
    int rc = memory_open(&m, mem, maps);
    if (rc)
        return rc;
    if (!has_code(&m))
        return -ENODATA;
    descriptor_read(&m, program, &s, &text);
    sections_search(&s, &m);
    rc = regions_build(&r, &m, &s, GENERATED_REGIONS);
    if (rc || text.failed)
        return rc ? rc : -ENOMEM;
    if (!r.list.n && !text.len)
        return -ENODATA;
    write_reply(&r, &text, out);
    return out->failed ? -ENOMEM : 0;
}

/* ---- The other side --------------------------------------------------------------------------------------------- */

static bool inside(u64 at, u64 len, size_t all)
{
    return at <= all && len <= all - at;
}

int generated_open(const void *data, size_t len, struct generated *out)
{
    struct head h;
    u64 after = 0;
    if (len < sizeof(h))
        return -EBADMSG;
    memcpy(&h, data, sizeof(h));
    if (h.magic != MAGIC || h.nregions > GENERATED_REGIONS ||
        !inside(sizeof(h), h.nregions * sizeof(struct place), len) || !inside(h.text_at, h.text_len, len))
        return -EBADMSG;
    out->nregions = h.nregions;
    out->text = (const char *)data + h.text_at;
    out->text_len = h.text_len;
    for (u32 i = 0; i < h.nregions; i++) {
        struct place p;
        memcpy(&p, (const char *)data + sizeof(h) + i * sizeof(p), sizeof(p));
        if (p.start < after || p.end <= p.start || (p.at & 7) || !inside(p.at, p.len, len))
            return -EBADMSG;
        const void *image = (const char *)data + p.at;
        if (table_check(image, p.len))
            return -EBADMSG;
        out->regions[i] = (struct generated_region){p.start, p.end, image};
        after = p.end;
    }
    return 0;
}
