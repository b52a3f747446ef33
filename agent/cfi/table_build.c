/* Builds table images: gaps, the entry point, overlaps; the rows of each FDE come from cfi_run, those of a language's
 * own tables from the caller. */
#include "cfi/table.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "cfi/cfi.h"
#include "cfi/table_elf.h"
#include <elf.h>
#include <errno.h>

#define SPARE_ROWS (4 + GAP_CODES * (GAP_ROWS + 1)) /* for a gap, and what becomes of a malformed program */
#define PADDING    64 /* a gap up to this between two FDEs is alignment: no row of its own */
#define NARROW     15 /* the same in a file that has more code without FDEs: small functions in assembler among it */

static u64 word_of(unsigned kind)
{
    return rule_word((struct xp_rule){.kind = (u8)kind});
}

struct builder {
    const struct table_input *in;
    const struct cfi *cfi;         /* its own, listed */
    const struct table_code *code; /* NULL: none, or done */
    const struct table_code *gap;  /* what is left of those that hold in gaps only */
    size_t ngaps;
    struct xp_table *t; /* header, index, rows: one allocation; the rules follow at the end */
    struct rows rows;
    size_t next; /* of the known codes: those before lie behind us */
    u64 done;    /* all code below this offset has its rows */
};

/* The rows of known code that starts in the gap [.., to). Returns where it ends. */
static u64 add_known(struct builder *b, const struct gap_code *c, u64 to)
{
    for (size_t i = 0; i < c->n && c->row[i].offset < to; i++)
        rows_emit(&b->rows, c->row[i].offset, c->row[i].word);
    return c->end < to ? c->end : to;
}

/* The rows of `c` within [from, to), which it overlaps: the first one is what holds at `from`. */
static void add_clipped(struct builder *b, const struct table_code *c, u64 from, u64 to)
{
    u32 before = b->rows.n;
    size_t i = 0;
    if (b->rows.cap - b->rows.n < SPARE_ROWS + c->n) {
        b->rows.err = -ENOSPC;
        return;
    }
    while (i + 1 < c->n && c->rows[i + 1].offset <= from)
        i++;
    rows_emit(&b->rows, from, c->rows[i].word);
    while (++i < c->n && c->rows[i].offset < to)
        rows_emit(&b->rows, c->rows[i].offset, c->rows[i].word);
    b->t->source_rows[c->source] += b->rows.n - before;
}

static bool is_blank(const struct builder *b, u64 at, u64 to)
{
    return to - at > (b->in->keeps_frame_pointers ? NARROW : PADDING);
}

/* Code [at, to) that nobody knows, but for those whose rows hold in gaps only. `blank`: it is more than padding. */
static void add_unknown(struct builder *b, u64 at, u64 to, bool blank, bool tail)
{
    u64 none = word_of(XP_CFA_NONE);
    while (b->ngaps && b->gap->start < to) {
        const struct table_code *c = b->gap;
        u64 from = c->start > at ? c->start : at, end = c->end < to ? c->end : to;
        if (from < end) {
            if (blank && from > at)
                rows_emit(&b->rows, at, none);
            add_clipped(b, c, from, end);
            at = end;
            blank = tail || is_blank(b, at, to);
        }
        if (c->end > to) /* the rest lies in the next gap */
            break;
        b->gap++;
        b->ngaps--;
    }
    if (blank && (at < to || tail))
        rows_emit(&b->rows, at, none);
}

/* Code [done, to) has no FDE: nothing is known of it, but for what gap.h finds and what holds in gaps. */
static void add_gap(struct builder *b, u64 to, bool tail)
{
    u64 at = b->done;
    bool blank = tail || is_blank(b, at, to);
    for (; b->next < b->in->known.n && b->in->known.v[b->next].start < to; b->next++) {
        const struct gap_code *c = &b->in->known.v[b->next];
        if (c->start < at) /* an FDE covers its start */
            continue;
        if (c->start > at)
            add_unknown(b, at, c->start, blank, false);
        u32 before = b->rows.n;
        at = add_known(b, c, to);
        b->t->source_rows[XP_SOURCE_KNOWN] += b->rows.n - before;
        blank = true;
    }
    add_unknown(b, at, to, blank, tail);
}

/* The rows that came from elsewhere. */
static int add_code(struct builder *b)
{
    const struct table_code *c = TAKE_PTR(b->code);
    if (b->rows.cap - b->rows.n < SPARE_ROWS + c->n)
        return -ENOSPC;
    if (c->start > b->done)
        add_gap(b, c->start, false);
    u32 before = b->rows.n;
    for (size_t i = 0; i < c->n; i++)
        rows_emit(&b->rows, c->rows[i].offset, c->rows[i].word);
    b->t->source_rows[c->source] += b->rows.n - before;
    b->t->bad_fdes += c->bad;
    b->done = c->end;
    return b->rows.err;
}

bool table_trim_fde(const struct table_code *c, struct cfi_fde *f)
{
    if (c && f->start < c->start && f->len > c->start - f->start)
        f->len = (u32)(c->start - f->start);
    return !c || f->start < c->start || f->start >= c->end;
}

static int add_fde(struct builder *b, const struct cfi_fde *f)
{
    if (b->rows.cap - b->rows.n < SPARE_ROWS)
        return -ENOSPC;
    if (f->start > b->done)
        add_gap(b, f->start, false);
    u32 before = b->rows.n;
    struct rows_mark mark = rows_mark(&b->rows);
    b->rows.loop = loops_has(&b->in->loops, f->start);
    int err = cfi_run(b->cfi, f, &b->rows);
    b->rows.loop = false;
    if (err == -EBADMSG) {
        rows_rewind(&b->rows, mark);
        rows_emit(&b->rows, f->start, word_of(XP_CFA_UNSUPPORTED));
        b->t->bad_fdes++;
    } else if (err) {
        return err;
    }
    bool debug = b->cfi->section[b->cfi->cies.v[f->cie].section].debug;
    b->t->source_rows[debug ? XP_SOURCE_DEBUG_FRAME : XP_SOURCE_EH_FRAME] += b->rows.n - before;
    b->done = f->start + f->len;
    return b->rows.err;
}

static void widen(u64 *lo, u64 *hi, u64 start, u64 end)
{
    *lo = start < *lo ? start : *lo;
    *hi = end > *hi ? end : *hi;
}

/* What is mapped from behind all segments is no code of this ELF file: the unwinder sees it behind the last block. */
static void widen_to_segments(const struct elf_file *e, u64 *hi)
{
    for (size_t i = 0; i < e->nloads; i++) {
        const struct elf_segment *l = &e->loads[i];
        u64 left = l->offset < e->size ? e->size - l->offset : 0, n = l->filesz < left ? l->filesz : left;
        if ((l->flags & PF_X) && l->offset + n > *hi)
            *hi = l->offset + n;
    }
}

/* The code that the table is about: all FDEs and what came from elsewhere, and if there is any, known code, wherever it
 * is, up to the end of all code. False: none. */
static bool extent(const struct builder *b, u64 *lo, u64 *hi)
{
    const struct cfi_fde *f = b->cfi->fdes.v;
    size_t n = b->cfi->fdes.n, known = b->in->known.n;
    *lo = ~0ull;
    *hi = 0;
    if (n)
        widen(lo, hi, f[0].start, f[n - 1].start + f[n - 1].len);
    if (b->code)
        widen(lo, hi, b->code->start, b->code->end);
    if (b->ngaps)
        widen(lo, hi, b->gap[0].start, b->gap[b->ngaps - 1].end);
    if (known && *hi)
        widen(lo, hi, b->in->known.v[0].start, b->in->known.v[known - 1].end);
    if (*hi)
        widen_to_segments(b->cfi->elf, hi);
    return *hi != 0;
}

static int add_rows(struct builder *b, u64 hi)
{
    const struct table_code *code = b->code;
    int err = 0;
    for (size_t i = 0; i < b->cfi->fdes.n && !err; i++) {
        struct cfi_fde f = b->cfi->fdes.v[i];
        if (b->code && f.start >= code->start)
            err = add_code(b);
        if (!err && table_trim_fde(code, &f))
            err = add_fde(b, &f);
    }
    if (!err && b->code)
        err = add_code(b);
    if (err)
        return err;
    add_gap(b, hi, true);
    rows_finish(&b->rows);
    return b->rows.err;
}

/* The image is complete but for its rules: they go behind the rows that are used, and what is left is given back. */
static int seal(struct builder *b, struct xp_table **out, size_t *len)
{
    size_t fixed = sizeof(*b->t) + 4 * ((size_t)b->t->nblocks + 1 + b->rows.n), rules = 8 * (size_t)b->rows.nrules;
    struct xp_table *t = realloc(b->t, fixed + rules);
    if (!t)
        return -ENOMEM;
    b->t = t;
    memcpy((char *)t + fixed, b->rows.rules, rules);
    t->nrows = b->rows.n;
    t->nrules = b->rows.nrules;
    t->checksum = hash_block(t + 1, fixed + rules - sizeof(*t), 0);
    *out = TAKE_PTR(b->t);
    *len = fixed + rules;
    return 0;
}

static void builder_free(struct builder *b)
{
    rows_free(&b->rows);
    free(b->t);
}

static void fill_header(struct xp_table *t, const struct table_input *in)
{
    const struct cfi *c = &in->cfi;
    const struct elf_file *e = c->elf;
    static const u8 nobody[16];
    struct table_key key;
    bool no_cfi = !c->fdes.n && !c->bad;
    *t = (struct xp_table){
        .magic = XP_TABLE_MAGIC,
        .version = XP_TABLE_VERSION,
        .flags = (no_cfi || in->keeps_frame_pointers ? XP_TABLE_FP_OK : 0) | (in->v8 ? XP_TABLE_V8 : 0) |
                 XP_TABLE_OF_LANGUAGE(in->loops.language),
        .bad_fdes = c->bad,
        .fdes = (u32)c->fdes.n,
    };
    if (e->build_id_len) {
        memcpy(t->build_id, e->build_id, e->build_id_len);
        t->build_id_len = e->build_id_len;
    } else { /* something that differs between files */
        table_key_of(in, nobody, &key);
        memcpy(t->build_id, key.digest, sizeof(key.digest));
        t->build_id_len = sizeof(t->build_id);
    }
}

static u64 max_rows(const struct builder *b, const struct table_limits *limits)
{
    u64 n = b->cfi->ins_bytes + 6 * (u64)b->cfi->fdes.n + 2 * SPARE_ROWS + (b->code ? b->code->n + SPARE_ROWS : 0);
    for (size_t i = 0; i < b->ngaps; i++)
        n += b->gap[i].n + 2;
    n += b->ngaps ? SPARE_ROWS + b->gap->n : 0;
    return n < limits->max_rows ? n : limits->max_rows;
}

static void take_gaps(struct builder *b, const struct table_input *in)
{
    b->gap = in->gaps;
    b->ngaps = in->ngaps;
}

int table_make(struct table_input *in, const struct table_code *gaps, size_t n, const struct table_limits *limits,
               struct xp_table **out, size_t *len)
{
    int err = cfi_list(&in->cfi, limits->max_rows < CFI_MAX_FDES ? limits->max_rows : CFI_MAX_FDES);
    if (err)
        return err;
    CLEANUP(builder_free)
    struct builder b = {
        .in = in, .cfi = &in->cfi, .code = in->code && in->code->n ? in->code : NULL, .gap = gaps, .ngaps = n};
    if (!n && (b.code || in->cfi.fdes.n)) /* alone they would make a table, and an end of frame pointers */
        take_gaps(&b, in);
    u64 first, hi, lo = 0, nblocks = 0;
    bool any = extent(&b, &first, &hi);
    if (any) {
        lo = first & ~(u64)(XP_BLOCK - 1);
        nblocks = ((hi - lo) >> XP_BLOCK_SHIFT) + 1; /* the row at hi needs its block too */
    }
    u64 cap = max_rows(&b, limits);
    if (nblocks >= UINT32_MAX || cap < SPARE_ROWS + 4)
        return -ENOSPC;
    b.t = malloc(sizeof(*b.t) + 4 * (nblocks + 1 + cap));
    if (!b.t)
        return -ENOMEM;
    fill_header(b.t, in);
    b.t->nblocks = (u32)nblocks;
    b.t->lo = lo;
    u32 *index = (u32 *)(b.t + 1);
    size_t max_rules = limits->max_rules < XP_MAX_RULES - 1 ? limits->max_rules : XP_MAX_RULES - 1;
    err = rows_init(&b.rows, lo, (u32)nblocks, index, index + nblocks + 1, (u32)cap, (u32)max_rules);
    if (!err && any)
        err = add_rows(&b, hi);
    return err ? err : seal(&b, out, len);
}

int table_build_filled(const struct elf_file *e, const struct table_code *code, const struct table_code *gaps, size_t n,
                       const struct table_limits *limits, struct xp_table **out, size_t *len)
{
    AUTO_INPUT struct table_input in = {0};
    int err = table_read(&in, e, -1, code);
    return err ? err : table_make(&in, gaps, n, limits, out, len);
}

int table_build_elf(const struct elf_file *e, const struct table_code *code, const struct table_limits *limits,
                    struct xp_table **out, size_t *len)
{
    return table_build_filled(e, code, NULL, 0, limits, out, len);
}

int table_build(int fd, const struct table_limits *limits, struct xp_table **out, size_t *len)
{
    AUTO_ELF struct elf_file e = {0};
    int err = elf_open(&e, fd);
    return err ? err : table_build_elf(&e, NULL, limits, out, len);
}
