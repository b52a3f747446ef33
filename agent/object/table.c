/* Builds table images: gaps, the entry point, overlaps; the rows of each FDE come from cfi_run. */
#include "object/table.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "object/cfi.h"
#include "object/cfi_sort.h"
#include "object/dynamic.h"
#include "object/table_elf.h"
#include <errno.h>

#define PADDING     64 /* a gap up to this between two FDEs is alignment: no row of its own */
#define ENTRY_BYTES 96 /* the longest _start without CFI: that of older dynamic linkers */

static u64 word_of(unsigned kind)
{
    return rule_word((struct xp_rule){.kind = (u8)kind});
}

/* The bytes of a program's first instructions: they call or jump to C and never return. "xor %ebp,%ebp" (the psABI asks
 * for it, 3.4.1) or "mov %rsp,%rdi"; libraries have e_entry at any odd place. */
static bool is_start(const u8 *p, size_t left)
{
    static const u8 endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
    if (left >= 4 && !memcmp(p, endbr, 4)) {
        p += 4;
        left -= 4;
    }
    return left >= 3 && (!memcmp(p, "\x31\xed", 2) || !memcmp(p, "\x48\x31\xed", 3) || !memcmp(p, "\x48\x89\xe7", 3));
}

/* File offset of _start, or ~0. */
u64 table_entry_offset(const struct elf_file *e)
{
    const struct elf_segment *s = elf_segment_at(e, e->entry, PF_X);
    if (!s)
        return ~0ull;
    u64 in = e->entry - s->vaddr;
    return is_start(e->map + s->offset + in, s->filesz - in) ? s->offset + in : ~0ull;
}

/* V8's embedded builtins have no FDEs but keep frame pointers; node exports what tells that they are there. */
bool table_keeps_frame_pointers(const struct elf_file *e)
{
    return elf_has_dynamic_symbol(e, "_ZNK2v88internal7Isolate18embedded_blob_codeEv") ||
           elf_has_dynamic_symbol(e, "v8_Default_embedded_blob_code_");
}

struct builder {
    const struct cfi *cfi;
    struct xp_table *t; /* header, index, rows: one allocation; the rules follow at the end */
    struct rows rows;
    u64 entry; /* of _start, or ~0 */
    u64 done;  /* all code below this offset has its rows */
};

/* Code [done, to) has no FDE: nothing is known of it, but that _start is the outermost frame. */
static void add_gap(struct builder *b, u64 to, bool tail)
{
    u64 from = b->done, entry = b->entry >= from && b->entry < to ? b->entry : ~0ull;
    if ((tail || to - from > PADDING) && entry != from)
        rows_emit(&b->rows, from, word_of(XP_CFA_NONE));
    if (entry == ~0ull)
        return;
    rows_emit(&b->rows, entry, word_of(XP_CFA_END));
    if (tail || to - entry > ENTRY_BYTES)
        rows_emit(&b->rows, to - entry > ENTRY_BYTES ? entry + ENTRY_BYTES : to, word_of(XP_CFA_NONE));
}

static int add_fde(struct builder *b, const struct cfi_fde *f)
{
    if (b->rows.cap - b->rows.n < 4) /* for the gap, and what becomes of a malformed program */
        return -ENOSPC;
    if (f->start > b->done)
        add_gap(b, f->start, false);
    struct rows_mark mark = rows_mark(&b->rows);
    int err = cfi_run(b->cfi, f, &b->rows);
    if (err == -EBADMSG) {
        rows_rewind(&b->rows, mark);
        rows_emit(&b->rows, f->start, word_of(XP_CFA_UNSUPPORTED));
        b->t->bad_fdes++;
    } else if (err) {
        return err;
    }
    b->done = f->start + f->len;
    return b->rows.err;
}

/* The code that the table is about: all FDEs, and _start, wherever it is. */
static void extent(const struct builder *b, u64 *lo, u64 *hi)
{
    const struct cfi_fde *f = b->cfi->fdes.v, *last = f + b->cfi->fdes.n - 1;
    *lo = f->start;
    *hi = last->start + last->len;
    if (b->entry != ~0ull) {
        *lo = b->entry < *lo ? b->entry : *lo;
        *hi = b->entry + ENTRY_BYTES > *hi ? b->entry + ENTRY_BYTES : *hi;
    }
}

static int add_rows(struct builder *b, u64 lo, u64 hi)
{
    b->done = lo;
    for (size_t i = 0; i < b->cfi->fdes.n; i++) {
        int err = add_fde(b, &b->cfi->fdes.v[i]);
        if (err)
            return err;
    }
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
    t->checksum = hash_bytes(t + 1, fixed + rules - sizeof(*t), 0);
    *out = TAKE_PTR(b->t);
    *len = fixed + rules;
    return 0;
}

static void builder_free(struct builder *b)
{
    rows_free(&b->rows);
    free(b->t);
}

static void fill_header(struct xp_table *t, const struct cfi *c)
{
    const struct elf_file *e = c->elf;
    static const u8 nobody[16];
    struct table_key key;
    bool no_cfi = !c->fdes.n && !c->bad;
    *t = (struct xp_table){
        .magic = XP_TABLE_MAGIC,
        .version = XP_TABLE_VERSION,
        .flags = no_cfi || table_keeps_frame_pointers(e) ? XP_TABLE_FP_OK : 0,
        .bad_fdes = c->bad,
        .fdes = (u32)c->fdes.n,
    };
    if (e->build_id_len) {
        memcpy(t->build_id, e->build_id, e->build_id_len);
        t->build_id_len = e->build_id_len;
    } else { /* something that differs between files */
        table_identify_elf(c, nobody, &key);
        memcpy(t->build_id, key.digest, sizeof(key.digest));
        t->build_id_len = sizeof(t->build_id);
    }
}

int table_build_elf(const struct elf_file *e, const struct table_limits *limits, struct xp_table **out, size_t *len)
{
    AUTO_CFI struct cfi c = {0};
    size_t max_fdes = limits->max_rows < CFI_MAX_FDES ? limits->max_rows : CFI_MAX_FDES;
    int err = cfi_read(&c, e, max_fdes);
    if (err)
        return err;
    CLEANUP(builder_free) struct builder b = {.cfi = &c, .entry = c.fdes.n ? table_entry_offset(e) : ~0ull};
    u64 lo = 0, hi = 0;
    if (c.fdes.n)
        extent(&b, &lo, &hi);
    u64 first = lo;
    lo &= ~(u64)(XP_BLOCK - 1);
    u64 nblocks = c.fdes.n ? ((hi - lo) >> XP_BLOCK_SHIFT) + 1 : 0; /* the row at hi needs its block too */
    u64 cap = c.ins_bytes + 6 * (u64)c.fdes.n + 16;
    cap = cap < limits->max_rows ? cap : limits->max_rows;
    if (nblocks >= UINT32_MAX || cap < 8)
        return -ENOSPC;
    b.t = malloc(sizeof(*b.t) + 4 * (nblocks + 1 + cap));
    if (!b.t)
        return -ENOMEM;
    fill_header(b.t, &c);
    b.t->nblocks = (u32)nblocks;
    b.t->lo = lo;
    u32 *index = (u32 *)(b.t + 1);
    size_t max_rules = limits->max_rules < XP_MAX_RULES - 1 ? limits->max_rules : XP_MAX_RULES - 1;
    err = rows_init(&b.rows, lo, (u32)nblocks, index, index + nblocks + 1, (u32)cap, (u32)max_rules);
    if (!err && c.fdes.n)
        err = add_rows(&b, first, hi);
    return err ? err : seal(&b, out, len);
}

int table_build(int fd, const struct table_limits *limits, struct xp_table **out, size_t *len)
{
    AUTO_ELF struct elf_file e = {0};
    int err = elf_open(&e, fd);
    return err ? err : table_build_elf(&e, limits, out, len);
}
