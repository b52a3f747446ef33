/* The sections of a process may lie anywhere, and their pointers are relative to where that is. So each FDE is written
 * anew, with an absolute address, into one section for its mapping, from which a table is made as for a file.
 */
#include "generated/regions.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cfi/entry.h"
#include "cfi/table_elf.h"
#include <errno.h>
#include <string.h>

#define MAX_FDES ((size_t)1 << 20)
#define MAX_SPAN ((u64)256 << 20)         /* of code from the start of a mapping */
#define MAX_ALL  (1ull << XP_OFFSET_BITS) /* of all mappings */
#define LIMITS                                  \
    {                                           \
        .max_rows = 4u << 20, .max_rules = 8192 \
    }

struct code { /* a mapping of generated code */
    u64 start, end;
    struct buf cfi; /* its section */
    u64 used;       /* where its last FDE ends, from the start */
    u64 cie;        /* what the CIE that was written last is a copy of */
    u64 cie_at;
    bool any;
};
struct builder {
    const struct memory *memory;
    VEC(struct code) code;
    struct elf_file elf; /* the mappings as segments, so that cfi_list finds their FDEs */
    size_t left;         /* FDEs */
};

static void builder_free(struct builder *b)
{
    for (size_t i = 0; i < b->code.n; i++)
        buf_free(&b->code.v[i].cfi);
    vec_free(&b->code);
    free(b->elf.loads);
}

/* All executable memory is one file, for cfi_list. */
static int find_code(struct builder *b)
{
    u64 offset = 0;
    for (size_t i = 0; i < b->memory->maps.n; i++) {
        const struct mapping *m = &b->memory->maps.v[i];
        if (!mapping_is_code(m) || m->end - m->start > MAX_ALL - offset)
            continue;
        struct code *c = VEC_PUSH(&b->code);
        if (!c)
            return -ENOMEM;
        *c = (struct code){.start = m->start, .end = m->end};
        offset += m->end - m->start;
    }
    b->elf.loads = calloc(b->code.n + 1, sizeof(*b->elf.loads));
    if (!b->elf.loads)
        return -ENOMEM;
    offset = 0;
    for (size_t i = 0; i < b->code.n; i++) {
        u64 len = b->code.v[i].end - b->code.v[i].start;
        b->elf.loads[i] =
            (struct elf_segment){.offset = offset, .vaddr = b->code.v[i].start, .filesz = len, .flags = PF_X};
        offset += len;
    }
    b->elf.nloads = b->code.n;
    b->elf.size = offset;
    return 0;
}

static struct code *code_of(struct builder *b, u64 offset)
{
    size_t lo = 0, hi = b->elf.nloads;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (b->elf.loads[mid].offset <= offset)
            lo = mid;
        else
            hi = mid;
    }
    return &b->code.v[lo];
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static void add_uleb(struct buf *b, u64 v)
{
    for (; v >= 0x80; v >>= 7)
        buf_char(b, (char)(v | 0x80));
    buf_char(b, (char)v);
}

static void add_sleb(struct buf *b, s64 v)
{
    for (; v < -64 || v > 63; v >>= 7)
        buf_char(b, (char)(v | 0x80));
    buf_char(b, (char)(v & 0x7f));
}

/* Fills up with DW_CFA_nop, and sets the length of the entry. */
static void end_entry(struct buf *b, size_t at)
{
    while (b->len & 7 && !b->failed)
        buf_char(b, 0);
    u32 len = (u32)(b->len - at - 4);
    if (!b->failed)
        memcpy(b->data + at, &len, sizeof(len));
}

static void write_cie(struct code *c, const struct cfi_cie *cie)
{
    u32 zero[2] = {0};
    size_t at = c->cie_at = c->cfi.len;
    buf_add(&c->cfi, zero, sizeof(zero));
    buf_char(&c->cfi, 1);
    buf_add(&c->cfi, cie->signal ? "zRS" : "zR", cie->signal ? 4 : 3);
    add_uleb(&c->cfi, cie->code_factor);
    add_sleb(&c->cfi, cie->data_factor);
    buf_char(&c->cfi, DW_RA);
    buf_char(&c->cfi, 1);
    buf_char(&c->cfi, DW_EH_PE_absptr);
    buf_add(&c->cfi, cie->ins, (size_t)(cie->end - cie->ins));
    end_entry(&c->cfi, at);
}

static void write_fde(struct code *c, u64 start, u64 len, const u8 *ins, size_t n)
{
    size_t at = c->cfi.len;
    u32 head[2] = {0, (u32)(at + 4 - c->cie_at)};
    buf_add(&c->cfi, head, sizeof(head));
    buf_add(&c->cfi, &start, sizeof(start));
    buf_add(&c->cfi, &len, sizeof(len));
    buf_char(&c->cfi, 0);
    buf_add(&c->cfi, ins, n);
    end_entry(&c->cfi, at);
}

/* `number` tells the section of the FDE from all others. */
static void copy_fde(struct builder *b, const struct cfi *cfi, const struct cfi_fde *f, u64 number)
{
    struct code *c = code_of(b, f->start);
    u64 at = f->start - b->elf.loads[c - b->code.v].offset, cie = number << 32 | f->cie;
    const u8 *ins, *end;
    if (at + f->len > MAX_SPAN || !cfi->cies.v[f->cie].usable || !cfi_program(cfi, f, &ins, &end) || ins > end)
        return;
    if (!c->any || c->cie != cie)
        write_cie(c, &cfi->cies.v[f->cie]);
    c->any = true;
    c->cie = cie;
    write_fde(c, c->start + at, f->len, ins, (size_t)(end - ins));
    c->used = at + f->len > c->used ? at + f->len : c->used;
}

static int copy_section(struct builder *b, const struct section *s, u64 number)
{
    AUTO_CFI struct cfi cfi = {.elf = &b->elf, .nsections = 1};
    cfi.section[0] =
        (struct cfi_section){.data = s->bytes, .len = s->len, .vaddr = s->at, .debug = s->debug, .open_ended = true};
    int rc = cfi_list(&cfi, b->left);
    if (rc == -ENOSPC) /* there is more than anybody writes: what was read so far has to do */
        return 0;
    for (size_t i = 0; !rc && i < cfi.fdes.n; i++)
        copy_fde(b, &cfi, &cfi.fdes.v[i], number);
    b->left -= rc ? 0 : cfi.fdes.n;
    return rc;
}

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

static int make_table(struct regions *out, const struct code *c)
{
    struct table_limits limits = LIMITS;
    struct elf_segment load = {.vaddr = c->start, .filesz = c->used, .flags = PF_X};
    struct elf_file elf = {.size = c->used, .loads = &load, .nloads = 1};
    AUTO_INPUT struct table_input in = {.keeps_frame_pointers = true}; /* as before, where there are no rows */
    in.cfi.elf = &elf;
    in.cfi.section[0] = (struct cfi_section){.data = (const u8 *)c->cfi.data, .len = c->cfi.len, .open_ended = true};
    in.cfi.nsections = 1;
    struct region r = {.start = c->start, .end = c->end};
    int rc = table_make(&in, NULL, 0, &limits, &r.image, &r.len);
    if (rc)
        return rc == -ENOMEM ? rc : 0; /* too much of it for one mapping: it goes without */
    struct region *to = r.image->nblocks ? VEC_PUSH(&out->list) : NULL;
    if (to)
        *to = r;
    else
        free(r.image);
    return 0;
}

int regions_build(struct regions *out, const struct memory *m, const struct sections *s, size_t max)
{
    CLEANUP(builder_free) struct builder b = {.memory = m, .left = MAX_FDES};
    int rc = find_code(&b);
    for (size_t i = 0; !rc && b.code.n && i < s->list.n; i++)
        rc = copy_section(&b, &s->list.v[i], i);
    for (size_t i = 0; !rc && i < b.code.n && out->list.n < max; i++) {
        struct code *c = &b.code.v[i];
        if (c->any)
            rc = c->cfi.failed ? -ENOMEM : make_table(out, c);
    }
    return rc;
}

void regions_free(struct regions *r)
{
    for (size_t i = 0; i < r->list.n; i++)
        free(r->list.v[i].image);
    vec_free(&r->list);
}
