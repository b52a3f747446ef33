#include "parser/synth_table.h"
#include "base/cleanup.h"
#include "base/siphash.h"
#include "cfi/table_elf.h"
#include "parser/startup_rows.h"
#include "runtime/file.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct head { /* of a reply; an image follows, if there are rows */
    u32 dropped, pad;
    struct synth_counts counts;
    u8 plain[16];
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

static int add_image(struct synth_file *s, const struct table_limits *limits, struct buf *out)
{
    struct xp_table *image = NULL;
    size_t len = 0;
    int err = list_gaps(s);
    if (!err)
        err = table_build_filled(&s->elf, &s->runtime.code, s->gaps.v, s->gaps.n, limits, &image, &len);
    if (!err)
        buf_add(out, image, len);
    free(image);
    return err;
}

static int reply_with(struct synth_file *s, const struct table_limits *limits, struct buf *out)
{
    struct head head = {.dropped = s->found.dropped, .counts = s->found.n};
    int err = 0;
    memcpy(head.plain, s->plain, sizeof(head.plain));
    buf_add(out, &head, sizeof(head));
    if (!s->found.dropped && s->found.n.claimed_bytes)
        err = add_image(s, limits, out);
    return !err && out->failed ? -ENOMEM : err;
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

struct synth_kept {
    struct stat st;  /* which file, as it was */
    VEC(u32) wanted; /* ascending: these were read */
    struct synth found;
};

void synth_kept_free(struct synth_kept **kept)
{
    struct synth_kept *k = TAKE_PTR(*kept);
    if (!k)
        return;
    vec_free(&k->wanted);
    synth_free(&k->found);
    free(k);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           !memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) &&
           !memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim));
}

/* What is kept of this file, or the place for it. */
static int find_kept(struct synth_kept **kept, int fd)
{
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    if (*kept && is_same(&(*kept)->st, &st))
        return 0;
    synth_kept_free(kept);
    *kept = calloc(1, sizeof(**kept));
    if (!*kept)
        return -ENOMEM;
    (*kept)->st = st;
    return 0;
}

/* Reads those of the wanted stretches that were not read before. */
static int read_more(struct synth_file *s, struct synth_kept *k, const u32 *wanted, size_t n)
{
    struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
    AUTO_FREE u32 *more = calloc(n, sizeof(*more));
    size_t nmore = 0;
    if (!more || VEC_RESERVE(&k->wanted, n))
        return -ENOMEM;
    for (size_t i = 0, known = 0; i < n; i++) {
        for (; known < k->wanted.n && k->wanted.v[known] < wanted[i]; known++)
            ;
        if (known == k->wanted.n || k->wanted.v[known] != wanted[i])
            more[nmore++] = wanted[i];
    }
    int err = synth_read_stretches(&s->elf, s->spans.v, s->spans.n, more, nmore, &limits, &k->found);
    if (err)
        return err == -EINVAL ? -EBADMSG : err;
    memcpy(k->wanted.v, wanted, n * sizeof(*wanted));
    k->wanted.n = n;
    return 0;
}

int synth_stretches(int fd, const u32 *wanted, size_t n, const struct table_limits *limits, struct synth_kept **kept,
                    struct buf *out)
{
    CLEANUP(synth_file_free) struct synth_file *s = calloc(1, sizeof(*s));
    int err = s ? elf_open(&s->elf, fd) : -ENOMEM;
    if (!err)
        err = runtime_file_rows(&s->elf, &s->runtime);
    if (!err)
        err = list_covered(s, limits);
    if (!err)
        err = find_kept(kept, fd);
    if (!err)
        err = read_more(s, *kept, wanted, n);
    if (err)
        return err;
    s->found = (*kept)->found; /* borrowed */
    err = reply_with(s, limits, out);
    s->found = (struct synth){0};
    return err;
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
    memcpy(out->plain, head.plain, sizeof(out->plain));
    out->table = image;
    out->len = rest;
    return 0;
}
