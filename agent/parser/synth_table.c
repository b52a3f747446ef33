#include "parser/synth_table.h"
#include "parser/synth_kept.h"
#include "base/cleanup.h"
#include "base/siphash.h"
#include "cfi/table_elf.h"
#include "parser/startup_rows.h"
#include "runtime/file.h"
#include "synth/stretch_image.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct head { /* of a reply; an image follows, if there are rows */
    u32 dropped, pad;
    struct synth_counts counts;
    u8 plain[16];
    u64 table_len; /* an image of stretches may follow the table, aligned */
};
_Static_assert(sizeof(struct head) % 8 == 0, "an image behind it is aligned");

struct synth_file {
    u8 *bytes; /* all of them; NULL: too many */
    struct elf_file elf;
    struct runtime_rows runtime;
    u8 plain[16];
    table_spans covered;
    VEC(struct synth_span) spans; /* the same */
    struct synth found;
    VEC(struct table_row) rows; /* the same */
    VEC(struct table_code) gaps;
};

void synth_file_free(struct synth_file **f)
{
    struct synth_file *s = TAKE_PTR(*f);
    if (!s)
        return;
    vec_free(&s->gaps);
    vec_free(&s->rows);
    synth_free(&s->found);
    vec_free(&s->spans);
    vec_free(&s->covered);
    runtime_rows_free(&s->runtime);
    elf_close(&s->elf);
    free(s->bytes);
    free(s);
}

/* ---- Its bytes --------------------------------------------------------------------------------------------------- */

static int open_elf(struct synth_file *s, int fd)
{
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    if (!S_ISREG(st.st_mode) || (u64)st.st_size > SYNTH_MAX_KEYED)
        return elf_open(&s->elf, fd);
    int err = elf_read(fd, 0, (size_t)st.st_size, &s->bytes);
    return err ? err : elf_open_memory(&s->elf, s->bytes, (size_t)st.st_size);
}

int synth_file_read(struct synth_file **out, int fd)
{
    CLEANUP(synth_file_free) struct synth_file *s = calloc(1, sizeof(*s));
    int err = s ? open_elf(s, fd) : -ENOMEM;
    if (!err)
        err = runtime_file_rows(&s->elf, &s->runtime);
    if (!err)
        *out = TAKE_PTR(s);
    return err;
}

static int key_of(struct synth_file *s, const u8 secret[16], struct table_key *out)
{
    AUTO_INPUT struct table_input plain = {0};
    CLEANUP(startup_rows_free) struct startup_rows startup = {0};
    struct table_key key;
    struct siphash h;
    u32 version = SYNTH_TABLE_VERSION;
    int err = table_read(&plain, &s->elf, -1, &s->runtime.code);
    if (!err)
        err = startup_rows_read(&s->elf, &startup);
    if (err)
        return err;
    plain.gaps = startup.codes.v;
    plain.ngaps = startup.codes.n;
    table_key_of(&plain, secret, &key);
    memcpy(s->plain, key.digest, sizeof(s->plain));
    siphash_init(&h, secret);
    siphash_add(&h, &version, sizeof(version));
    siphash_add(&h, key.digest, sizeof(key.digest)); /* of another version of the other rows' table, too */
    siphash_add(&h, s->elf.map, s->elf.size);
    siphash_end(&h, key.digest);
    *out = key;
    return 0;
}

int synth_file_key(struct synth_file *s, const u8 secret[16], struct table_key *out)
{
    return s->bytes ? key_of(s, secret, out) : -EFBIG;
}

/* ---- Its table --------------------------------------------------------------------------------------------------- */

/* Which code other sources cover. */
static int list_covered(struct synth_file *s, const struct table_limits *limits)
{
    int err = table_covered(&s->elf, &s->runtime.code, limits, &s->covered);
    if (err)
        return err;
    if (VEC_RESERVE(&s->spans, s->covered.n))
        return -ENOMEM;
    for (size_t i = 0; i < s->covered.n; i++)
        s->spans.v[s->spans.n++] = (struct synth_span){s->covered.v[i].start, s->covered.v[i].end};
    return 0;
}

static int read_code(struct synth_file *s, const struct table_limits *limits)
{
    struct synth_limits ours = SYNTH_LIMITS_DEFAULT;
    int err = list_covered(s, limits);
    if (!err)
        err = synth_read(&s->elf, s->spans.v, s->spans.n, &ours, &s->found);
    return err == -EINVAL ? -EBADMSG : err;
}

struct trampoline { /* file offsets; an empty one at the end: none is left */
    u64 start, end;
};

/* Signal handlers return to "mov $15, %rax (or %eax); syscall" (musl): above it is no caller, but what the kernel put
 * there. The first one in [from, range->end). */
static struct trampoline find_trampoline(const struct synth_file *s, u64 from, const struct table_code *range)
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

static int add_row(struct synth_file *s, u64 offset, u64 word)
{
    struct table_row *row = VEC_PUSH(&s->rows);
    if (!row)
        return -ENOMEM;
    *row = (struct table_row){offset, word};
    return 0;
}

/* What was found for [from, to), of one range. *at: a row that holds at `from` or before; then the same for `to`. */
static int add_found(struct synth_file *s, u64 from, u64 to, size_t *at)
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
static int add_rows(struct synth_file *s, const struct table_code *range, size_t *at)
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
static int add_gap(struct synth_file *s, const struct synth_span *range, size_t *next)
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
static int list_gaps(struct synth_file *s)
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

static int reply_with(struct synth_file *s, const struct table_limits *limits, struct buf *out)
{
    struct head head = {.dropped = s->found.dropped, .counts = s->found.n};
    AUTO_FREE struct xp_table *table = NULL;
    size_t len = 0;
    bool any = !s->found.dropped && s->found.n.claimed_bytes;
    int err = any ? list_gaps(s) : 0;
    if (any && !err)
        err = table_build_filled(&s->elf, &s->runtime.code, s->gaps.v, s->gaps.n, limits, &table, &len);
    if (err)
        return err;
    memcpy(head.plain, s->plain, sizeof(head.plain));
    head.table_len = len;
    buf_add(out, &head, sizeof(head));
    buf_add(out, table, len);
    return out->failed ? -ENOMEM : 0;
}

int synth_file_table(struct synth_file *s, const struct table_limits *limits, struct buf *out)
{
    int err = read_code(s, limits);
    return err ? err : reply_with(s, limits, out);
}

/* ---- At once ----------------------------------------------------------------------------------------------------- */

int synth_identify(int fd, const u8 secret[16], struct table_key *out)
{
    CLEANUP(synth_file_free) struct synth_file *s = calloc(1, sizeof(*s));
    int err = s ? elf_open(&s->elf, fd) : -ENOMEM;
    if (!err && s->elf.size > SYNTH_MAX_KEYED)
        err = -EFBIG;
    if (!err)
        err = runtime_file_rows(&s->elf, &s->runtime);
    return err ? err : key_of(s, secret, out);
}

int synth_table(int fd, const u8 secret[16], const struct table_key *key, const struct table_limits *limits,
                struct buf *out)
{
    CLEANUP(synth_file_free) struct synth_file *s = NULL;
    struct table_key is;
    int err = synth_file_read(&s, fd);
    if (!err && key)
        err = synth_file_key(s, secret, &is);
    if (!err && key && !table_key_equal(&is, key))
        err = -ESTALE;
    return err ? err : synth_file_table(s, limits, out);
}

/* ---- By stretches ------------------------------------------------------------------------------------------------ */

/* Adds what was read, to be kept. If it is too much for an image, nothing is. */
static int add_kept(const struct synth_kept *k, struct buf *out)
{
    static const char zeros[8];
    AUTO_BUF struct buf image = {0};
    int err = synth_kept_write(k, &image);
    if (err)
        return err == -E2BIG ? 0 : err;
    buf_add(out, zeros, -out->len & 7);
    buf_add(out, image.data, image.len);
    return out->failed ? -ENOMEM : 0;
}

int synth_stretches(int fd, int image, const u32 *wanted, size_t n, const struct table_limits *limits,
                    struct synth_kept **kept, struct buf *out)
{
    CLEANUP(synth_file_free) struct synth_file *s = calloc(1, sizeof(*s));
    int err = s ? elf_open(&s->elf, fd) : -ENOMEM;
    if (!err)
        err = runtime_file_rows(&s->elf, &s->runtime);
    if (!err)
        err = list_covered(s, limits);
    if (!err)
        err = synth_kept_find(kept, fd, image);
    if (!err)
        err = synth_kept_read(*kept, &s->elf, s->spans.v, s->spans.n, wanted, n);
    if (err)
        return err;
    s->found = *synth_kept_found(*kept); /* borrowed */
    err = reply_with(s, limits, out);
    s->found = (struct synth){0};
    return err ? err : add_kept(*kept, out);
}

void synth_stretches_key(const u8 secret[16], const struct xp_file_key *file, u8 out[16])
{
    stretch_image_key(secret, SYNTH_TABLE_VERSION, file, out);
}

int synth_stretches_list(int fd, void (*use)(void *ctx, u32 number), void *ctx)
{
    struct stat st;
    size_t n;
    if (fd < 0 || fstat(fd, &st))
        return fd < 0 ? fd : -errno;
    void *image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image == MAP_FAILED)
        return -errno;
    const u32 *wanted = stretch_image_wanted(image, &n);
    for (size_t i = 0; i < n; i++)
        use(ctx, wanted[i]);
    munmap(image, (size_t)st.st_size);
    return 0;
}

const u32 *synth_stretches_wanted(const void *image, size_t *n)
{
    return stretch_image_wanted(image, n);
}

int synth_reply_open(const void *data, size_t len, struct parser_synth *out)
{
    struct head head;
    if (len < sizeof(head))
        return -EBADMSG;
    memcpy(&head, data, sizeof(head));
    if (head.dropped >= SYNTH_DROP_COUNT || head.table_len > len - sizeof(head) || (head.table_len && head.dropped))
        return -EBADMSG;
    size_t at = (sizeof(head) + head.table_len + 7) & ~(size_t)7;
    const void *table = head.table_len ? (const char *)data + sizeof(head) : NULL;
    const void *stretches = at < len ? (const char *)data + at : NULL;
    if ((table && table_check(table, head.table_len)) || (stretches && stretch_image_check(stretches, len - at)))
        return -EBADMSG;
    out->dropped = (enum synth_drop)head.dropped;
    out->counts = head.counts;
    memcpy(out->plain, head.plain, sizeof(out->plain));
    out->table = table;
    out->len = head.table_len;
    out->stretches = stretches;
    out->stretches_len = stretches ? len - at : 0;
    return 0;
}
