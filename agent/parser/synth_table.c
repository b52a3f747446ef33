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

#define MAX_HASHED  (1ull << 29) /* bytes of a file: 0.3 s when they are in memory */
#define HASHED_STEP (1ull << 22)

/* All bytes of the file: sections that are not loaded say where code is, too, and a key that left out anything that the
 * analysis reads would let one container's file stand for another's. */
static void hash_file(struct siphash *h, const struct elf_file *e)
{
    for (u64 at = 0; at < e->size; at += HASHED_STEP) {
        size_t n = e->size - at < HASHED_STEP ? e->size - at : HASHED_STEP;
        siphash_add(h, e->map + at, n);
        elf_have_read(e, e->map + at, n);
    }
}

int synth_identify(int fd, const u8 secret[16], struct table_key *out)
{
    CLEANUP(synthesis_free) struct synthesis s = {0};
    struct table_key key;
    struct siphash h;
    u32 version = SYNTH_TABLE_VERSION;
    int err = open_file(&s, fd);
    if (!err)
        err = table_identify_elf(&s.elf, &s.go.code, secret, &key);
    if (err)
        return err;
    if (s.elf.size > MAX_HASHED)
        return -ENOSPC;
    siphash_init(&h, secret);
    siphash_add(&h, &version, sizeof(version));
    siphash_add(&h, key.digest, sizeof(key.digest)); /* of another version of the other rows' table, too */
    hash_file(&h, &s.elf);
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

struct trampoline { /* file offsets; an empty one at the end: none is left */
    u64 start, end;
};

/* Signal handlers return to "mov $15, %rax (or %eax); syscall" (musl): above it is no caller, but what the kernel put
 * there. The first one in [from, range->end). */
static struct trampoline find_trampoline(const struct synthesis *s, u64 from, const struct table_code *range)
{
    static const u8 number_call[] = {15, 0, 0, 0, 0x0f, 0x05}, rax[] = {0x48, 0xc7, 0xc0};
    const u8 *start = s->elf.map + from, *end = s->elf.map + range->end, *p = start;
    for (; (p = memmem(p, (size_t)(end - p), number_call, sizeof(number_call))); p += sizeof(number_call)) {
        size_t before = p - start >= 3 && !memcmp(p - 3, rax, 3) ? 3 : p > start && p[-1] == 0xb8 ? 1 : 0;
        if (before)
            return (struct trampoline){(u64)(p - before - s->elf.map), (u64)(p - s->elf.map) + sizeof(number_call)};
    }
    return (struct trampoline){range->end, range->end};
}

static int add_row(struct synthesis *s, u64 offset, u64 word)
{
    struct table_row *row = VEC_PUSH(&s->rows);
    if (!row)
        return -ENOMEM;
    *row = (struct table_row){offset, word};
    return 0;
}

/* What was found for [from, to), of one range. *at: a row that holds at `from` or before; then the same for `to`. */
static int add_found(struct synthesis *s, u64 from, u64 to, size_t *at)
{
    const struct synth_row *v = s->found.rows.v;
    int err = 0;
    for (; *at + 1 < s->found.rows.n && v[*at + 1].offset <= from; ++*at)
        ;
    for (u64 next = from; next < to && !err;) {
        err = add_row(s, next, rule_word(v[*at].rule));
        next = *at + 1 < s->found.rows.n ? v[*at + 1].offset : to;
        *at += next < to;
    }
    return err;
}

/* Rows as they were found, and between them those of trampolines: these begin a byte before, for that is where callers
 * are looked up. Both ascend, so each is looked at once, however many there are. */
static int add_rows(struct synthesis *s, const struct table_code *range, size_t *at)
{
    u64 signal = rule_word((struct xp_rule){.kind = XP_CFA_SIGNAL});
    int err = 0;
    for (u64 done = range->start; done < range->end && !err;) {
        struct trampoline t = find_trampoline(s, done, range);
        u64 start = t.start < t.end && t.start > done ? t.start - 1 : t.start;
        err = start > done ? add_found(s, done, start, at) : 0;
        if (!err && t.start < t.end)
            err = add_row(s, start, signal);
        done = t.end;
    }
    return err;
}

/* The rows of a range; it becomes a table_code of its own. */
static int add_gap(struct synthesis *s, const struct synth_span *range, size_t *next)
{
    struct table_code *c = VEC_PUSH(&s->gaps);
    size_t first = s->rows.n;
    if (!c)
        return -ENOMEM;
    *c = (struct table_code){.start = range->start, .end = range->end, .source = XP_SOURCE_SYNTH};
    while (*next < s->found.rows.n && s->found.rows.v[*next].offset < c->start)
        ++*next;
    if (*next == s->found.rows.n || s->found.rows.v[*next].offset != c->start || c->end > s->elf.size)
        return -EBADMSG;
    int err = add_rows(s, c, next);
    c->n = s->rows.n - first;
    return err;
}

/* What was found, as table.h wants it. */
static int list_gaps(struct synthesis *s)
{
    size_t next = 0, row = 0;
    for (size_t i = 0; i < s->found.ranges.n; i++) {
        int err = add_gap(s, &s->found.ranges.v[i], &next);
        if (err)
            return err;
    }
    for (size_t i = 0; i < s->gaps.n; row += s->gaps.v[i++].n)
        s->gaps.v[i].rows = &s->rows.v[row];
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
