#include "synth/stretch_image.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/siphash.h"
#include "synth/frames.h"
#include <errno.h>
#include <string.h>

#define OFFSET_BITS 21
#define MAX_OFFSET  (1u << OFFSET_BITS)
#define MAX_RULES   (1u << (32 - OFFSET_BITS))
#define MAX_WANTED  (1u << 15)
#define MAX_ROWS    (1u << 26)
_Static_assert(FRAMES_MAX_RUN + 2 * FRAMES_SYNC_REACH <= MAX_OFFSET, "an offset in a run fits");
_Static_assert(sizeof(struct stretch_image) % 8 == 0, "rules behind it are aligned");

struct parts { /* of an image */
    const u64 *rules;
    const struct stretch_range *ranges;
    const u32 *wanted, *rows;
    size_t len; /* of all of it */
};

static struct parts parts_of(const struct stretch_image *i)
{
    struct parts p;
    p.rules = (const u64 *)(i + 1);
    p.ranges = (const struct stretch_range *)(p.rules + i->nrules);
    p.wanted = (const u32 *)(p.ranges + i->nranges);
    p.rows = p.wanted + i->nwanted;
    p.len = (size_t)((const char *)(p.rows + i->nrows) - (const char *)i);
    return p;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

struct writer {
    const struct synth *found;
    VEC(u64) rules;
    struct map numbers; /* rule -> number + 1 */
    VEC(struct stretch_range) ranges;
    VEC(u32) rows;
};

static void writer_free(struct writer *w)
{
    vec_free(&w->rules);
    map_free(&w->numbers);
    vec_free(&w->ranges);
    vec_free(&w->rows);
}

static int number_of(struct writer *w, const struct xp_rule *rule, u32 *out)
{
    u64 word;
    memcpy(&word, rule, sizeof(word));
    u64 *number = map_put(&w->numbers, word);
    if (!number)
        return -ENOMEM;
    if (!*number) {
        u64 *new = w->rules.n < MAX_RULES ? VEC_PUSH(&w->rules) : NULL;
        if (!new)
            return w->rules.n < MAX_RULES ? -ENOMEM : -E2BIG;
        *new = word;
        *number = w->rules.n;
    }
    *out = (u32)*number - 1;
    return 0;
}

/* The rows of a range; *row: its first one, then that of the next range. */
static int add_range(struct writer *w, const struct synth_span *span, size_t *row)
{
    const struct synth_row *v = w->found->rows.v;
    struct stretch_range *range = VEC_PUSH(&w->ranges);
    if (!range)
        return -ENOMEM;
    *range = (struct stretch_range){.offset = span->start, .len = (u32)(span->end - span->start)};
    for (; *row < w->found->rows.n && v[*row].offset < span->end; ++*row, range->nrows++) {
        u32 number, *to = VEC_PUSH(&w->rows);
        int err = to ? number_of(w, &v[*row].rule, &number) : -ENOMEM;
        if (err)
            return err;
        *to = (u32)(v[*row].offset - span->start) | number << OFFSET_BITS;
    }
    return 0;
}

static void put(const struct writer *w, const u32 *wanted, size_t n, struct buf *out)
{
    size_t at = out->len;
    struct stretch_image head = {.magic = STRETCH_IMAGE_MAGIC,
                                 .version = STRETCH_IMAGE_VERSION,
                                 .nwanted = (u32)n,
                                 .nranges = (u32)w->ranges.n,
                                 .nrules = (u32)w->rules.n,
                                 .nrows = (u32)w->rows.n,
                                 .counts = w->found->n};
    buf_add(out, &head, sizeof(head));
    buf_add(out, w->rules.v, w->rules.n * sizeof(*w->rules.v));
    buf_add(out, w->ranges.v, w->ranges.n * sizeof(*w->ranges.v));
    buf_add(out, wanted, n * sizeof(*wanted));
    buf_add(out, w->rows.v, w->rows.n * sizeof(*w->rows.v));
    if (out->failed)
        return;
    char *image = out->data + at, *rest = image + offsetof(struct stretch_image, counts);
    head.checksum = hash_block(rest, out->len - (size_t)(rest - out->data), 0);
    memcpy(image, &head, sizeof(head));
}

int stretch_image_write(const struct synth *found, const u32 *wanted, size_t n, struct buf *out)
{
    CLEANUP(writer_free) struct writer w = {.found = found};
    int err = n > MAX_WANTED ? -E2BIG : 0;
    for (size_t i = 0, row = 0; i < found->ranges.n && !err; i++)
        err = add_range(&w, &found->ranges.v[i], &row);
    if (err)
        return err;
    put(&w, wanted, n, out);
    return out->failed ? -ENOMEM : 0;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static bool is_wanted_sound(const u32 *wanted, u32 n)
{
    for (u32 i = 1; i < n; i++)
        if (wanted[i] <= wanted[i - 1])
            return false;
    return true;
}

/* All rows of a range ascend, and the first one is at its start. */
static bool is_range_sound(const struct stretch_image *i, const struct stretch_range *range, const u32 *rows)
{
    if (!range->nrows || !range->len || range->len > MAX_OFFSET || rows[0] % MAX_OFFSET)
        return false;
    for (u32 k = 0; k < range->nrows; k++)
        if (rows[k] >> OFFSET_BITS >= i->nrules || rows[k] % MAX_OFFSET >= range->len ||
            (k && rows[k] % MAX_OFFSET <= rows[k - 1] % MAX_OFFSET))
            return false;
    return true;
}

int stretch_image_check(const void *data, size_t len)
{
    const struct stretch_image *i = data;
    if (len < sizeof(*i) || i->magic != STRETCH_IMAGE_MAGIC || i->version != STRETCH_IMAGE_VERSION ||
        i->nwanted > MAX_WANTED || i->nrules > MAX_RULES || i->nranges > MAX_ROWS || i->nrows > MAX_ROWS)
        return -EBADMSG;
    struct parts p = parts_of(i);
    if (p.len != len || !is_wanted_sound(p.wanted, i->nwanted) ||
        i->checksum != hash_block(&i->counts, len - offsetof(struct stretch_image, counts), 0))
        return -EBADMSG;
    u64 end = 0;
    u32 row = 0;
    for (u32 k = 0; k < i->nranges; row += p.ranges[k++].nrows) {
        const struct stretch_range *range = &p.ranges[k];
        if (range->offset < end || range->offset >> 40 || range->nrows > i->nrows - row ||
            !is_range_sound(i, range, p.rows + row))
            return -EBADMSG;
        end = range->offset + range->len;
    }
    return row == i->nrows ? 0 : -EBADMSG;
}

const u32 *stretch_image_wanted(const void *data, size_t *n)
{
    const struct stretch_image *i = data;
    *n = i->nwanted;
    return parts_of(i).wanted;
}

int stretch_image_read(const void *data, struct synth *out)
{
    const struct stretch_image *i = data;
    struct parts p = parts_of(i);
    if (VEC_RESERVE(&out->ranges, i->nranges) || VEC_RESERVE(&out->rows, i->nrows))
        return -ENOMEM;
    out->n = i->counts;
    for (u32 k = 0, row = 0; k < i->nranges; k++) {
        u64 start = p.ranges[k].offset;
        out->ranges.v[out->ranges.n++] = (struct synth_span){start, start + p.ranges[k].len};
        for (u32 end = row + p.ranges[k].nrows; row < end; row++) {
            struct synth_row *to = &out->rows.v[out->rows.n++];
            to->offset = start + p.rows[row] % MAX_OFFSET;
            memcpy(&to->rule, &p.rules[p.rows[row] >> OFFSET_BITS], sizeof(to->rule));
        }
    }
    return 0;
}

void stretch_image_key(const u8 secret[16], u32 version, const struct xp_file_key *file, u8 out[16])
{
    struct siphash h;
    siphash_init(&h, secret);
    siphash_add(&h, "stretches", 9);
    siphash_add(&h, &version, sizeof(version));
    siphash_add(&h, file, sizeof(*file));
    siphash_end(&h, out);
}
