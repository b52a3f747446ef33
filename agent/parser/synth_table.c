#include "parser/synth_table.h"
#include "base/cleanup.h"
#include "object/siphash.h"
#include "object/table_elf.h"
#include "runtime/go_rows.h"
#include <errno.h>
#include <string.h>

struct head { /* of a reply; an image follows, if there are rows */
    u32 dropped, pad;
    struct synth_counts counts;
};
_Static_assert(sizeof(struct head) % 8 == 0, "an image behind it is aligned");

struct synthesis {
    struct elf_file elf;
    struct go_rows go;
    table_spans covered;
    VEC(struct synth_span) spans; /* the same */
    struct synth found;
    VEC(struct table_row) rows; /* the same */
    VEC(struct table_code) gaps;
};

static void synthesis_free(struct synthesis *s)
{
    vec_free(&s->gaps);
    vec_free(&s->rows);
    synth_free(&s->found);
    vec_free(&s->spans);
    vec_free(&s->covered);
    go_rows_free(&s->go);
    elf_close(&s->elf);
}

static int open_file(struct synthesis *s, int fd)
{
    struct gopclntab t;
    int err = elf_open(&s->elf, fd);
    if (err || go_open(&t, &s->elf))
        return err;
    return go_rows_read(&t, &s->go) == -ENOMEM ? -ENOMEM : 0;
}

/* ---- Who it is --------------------------------------------------------------------------------------------------- */

int synth_identify(int fd, const u8 secret[16], struct table_key *out)
{
    CLEANUP(synthesis_free) struct synthesis s = {0};
    struct table_key key;
    struct elf_section symbols;
    struct siphash h;
    u32 version = SYNTH_TABLE_VERSION;
    int err = open_file(&s, fd);
    if (!err)
        err = table_identify_elf(&s.elf, &s.go.code, secret, &key);
    if (err)
        return err;
    siphash_init(&h, secret);
    siphash_add(&h, &version, sizeof(version));
    siphash_add(&h, key.digest, sizeof(key.digest));
    for (size_t i = 0; i < s.elf.nloads; i++) /* relocations and dynamic symbols are loaded, too */
        siphash_add(&h, s.elf.map + s.elf.loads[i].offset, s.elf.loads[i].filesz);
    if (elf_section(&s.elf, ".symtab", &symbols))
        siphash_add(&h, symbols.data, symbols.len);
    siphash_end(&h, key.digest);
    *out = key;
    return 0;
}

/* ---- Its table --------------------------------------------------------------------------------------------------- */

static int read_code(struct synthesis *s, const struct table_limits *limits)
{
    struct synth_limits ours = SYNTH_LIMITS_DEFAULT;
    int err = table_covered(&s->elf, &s->go.code, limits, &s->covered);
    if (err)
        return err;
    if (VEC_RESERVE(&s->spans, s->covered.n))
        return -ENOMEM;
    for (size_t i = 0; i < s->covered.n; i++)
        s->spans.v[s->spans.n++] = (struct synth_span){s->covered.v[i].start, s->covered.v[i].end};
    err = synth_read(&s->elf, s->spans.v, s->spans.n, &ours, &s->found);
    return err == -EINVAL ? -EBADMSG : err;
}

/* What was found, as table.h wants it: a range is a table_code of its own. */
static int list_gaps(struct synthesis *s)
{
    size_t r = 0;
    if (VEC_RESERVE(&s->rows, s->found.rows.n) || VEC_RESERVE(&s->gaps, s->found.ranges.n))
        return -ENOMEM;
    for (size_t i = 0; i < s->found.ranges.n; i++) {
        const struct synth_span *range = &s->found.ranges.v[i];
        struct table_code *c = &s->gaps.v[s->gaps.n++];
        *c = (struct table_code){.start = range->start, .end = range->end, .source = XP_SOURCE_SYNTH};
        c->rows = &s->rows.v[r];
        for (; r < s->found.rows.n && s->found.rows.v[r].offset < range->end; r++, c->n++)
            s->rows.v[s->rows.n++] = (struct table_row){s->found.rows.v[r].offset, rule_word(s->found.rows.v[r].rule)};
        if (!c->n || c->rows->offset != c->start)
            return -EBADMSG;
    }
    return 0;
}

static int add_image(struct synthesis *s, const struct table_limits *limits, struct buf *out)
{
    struct xp_table *image = NULL;
    size_t len = 0;
    int err = list_gaps(s);
    if (!err)
        err = table_build_filled(&s->elf, &s->go.code, s->gaps.v, s->gaps.n, limits, &image, &len);
    if (!err)
        buf_add(out, image, len);
    free(image);
    return err;
}

int synth_table(int fd, const struct table_limits *limits, struct buf *out)
{
    CLEANUP(synthesis_free) struct synthesis s = {0};
    int err = open_file(&s, fd);
    if (!err)
        err = read_code(&s, limits);
    if (err)
        return err;
    struct head head = {.dropped = s.found.dropped, .counts = s.found.n};
    buf_add(out, &head, sizeof(head));
    if (!s.found.dropped && s.found.n.claimed_bytes)
        err = add_image(&s, limits, out);
    return !err && out->failed ? -ENOMEM : err;
}

int synth_reply_open(const void *data, size_t len, struct parser_synth *out)
{
    struct head head;
    if (len < sizeof(head))
        return -EBADMSG;
    memcpy(&head, data, sizeof(head));
    size_t rest = len - sizeof(head);
    const void *image = rest ? (const char *)data + sizeof(head) : NULL;
    if (head.dropped >= SYNTH_DROP_COUNT || (image && (head.dropped || table_check(image, rest))))
        return -EBADMSG;
    out->dropped = (enum synth_drop)head.dropped;
    out->counts = head.counts;
    out->table = image;
    out->len = rest;
    return 0;
}
