#include "cfi/labels.h"
#include "elf/dynamic.h"
#include <stdlib.h>
#include <string.h>

#define HDR_FIXED  4    /* version and three encodings */
#define HDR_TABLE  0x3b /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */
#define HDR_COUNT  0x03 /* DW_EH_PE_udata4 */
#define HDR_STARTS (HDR_FIXED + 4 + 4)

struct functions { /* the sorted table of .eh_frame_hdr */
    const u8 *entry;
    size_t n;
    u64 base;
};

struct search {
    const struct elf_file *e;
    struct functions functions;
    bool (*begins)(struct search *s, u64 to);    /* whether a pointer may be the first one of a table */
    bool (*continues)(struct search *s, u64 to); /* or one that follows */
    void (*ends)(struct search *s);
    u64 at;   /* where the next pointer of this table would be */
    size_t n; /* pointers */
    size_t least, best;
    u64 start, end, best_start, best_end; /* labels: their function */
    u64 to[LABELS_MAX], handlers[LABELS_MAX];
};

/* ---- Functions of the file -------------------------------------------------------------------------------------- */

static bool functions_find(const struct elf_file *e, struct functions *out)
{
    Elf64_Phdr p;
    size_t left;
    u32 n;
    if (!elf_find_phdr(e, PT_GNU_EH_FRAME, &p))
        return false;
    const u8 *hdr = elf_at(e, p.p_vaddr, &left);
    if (!hdr || left < HDR_STARTS || hdr[0] != 1 || hdr[2] != HDR_COUNT || hdr[3] != HDR_TABLE)
        return false;
    memcpy(&n, hdr + HDR_FIXED + 4, sizeof(n));
    *out = (struct functions){hdr + HDR_STARTS, n, p.p_vaddr};
    return n <= (left - HDR_STARTS) / 8;
}

static u64 function_start(const struct functions *f, size_t i)
{
    s32 start;
    memcpy(&start, f->entry + 8 * i, sizeof(start));
    return f->base + (u64)(s64)start;
}

/* The function that has an address, up to the next one. */
static bool function_at(const struct functions *f, u64 address, u64 *start, u64 *end)
{
    size_t low = 0, high = f->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (function_start(f, middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || low == f->n)
        return false;
    *start = function_start(f, low - 1);
    *end = function_start(f, low);
    return true;
}

/* ---- Pointers --------------------------------------------------------------------------------------------------- */

static void finish(struct search *s)
{
    if (s->n >= s->least && s->n > s->best)
        s->ends(s);
    s->n = 0;
}

/* There is a pointer `to` at `at`. */
static void see(struct search *s, u64 at, u64 to)
{
    if (!s->n || at != s->at || !s->continues(s, to)) {
        finish(s);
        if (!elf_segment_at(s->e, to, PF_X) || !s->begins(s, to))
            return;
    }
    if (s->n < LABELS_MAX)
        s->to[s->n] = to;
    s->n++;
    s->at = at + sizeof(u64);
}

static void see_relocations(struct search *s)
{
    struct elf_dynamic d;
    size_t left;
    const u8 *at = elf_dynamic(s->e, &d) && d.rela ? elf_at(s->e, d.rela, &left) : NULL;
    size_t n = at ? (d.rela_size < left ? d.rela_size : left) / sizeof(Elf64_Rela) : 0;
    for (size_t i = 0; i < n; i++) {
        Elf64_Rela r;
        memcpy(&r, at + i * sizeof(r), sizeof(r));
        if (ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE)
            see(s, r.r_offset, (u64)r.r_addend);
    }
    finish(s);
}

/* Pointers that need no relocation, or have theirs in DT_RELR, are where they are used. */
static void see_data(struct search *s)
{
    for (size_t i = 0; i < s->e->nloads; i++) {
        const struct elf_segment *l = &s->e->loads[i];
        size_t left;
        u64 from = (l->vaddr + 7) & ~7ull;
        const u8 *data = l->flags & PF_X ? NULL : elf_at(s->e, from, &left);
        for (size_t at = 0; data && at + sizeof(u64) <= left; at += sizeof(u64)) {
            u64 to;
            memcpy(&to, data + at, sizeof(to));
            see(s, from + at, to);
        }
        finish(s);
    }
}

static void search(struct search *s)
{
    if (!functions_find(s->e, &s->functions))
        return;
    see_relocations(s);
    if (!s->best)
        see_data(s);
}

static u64 offset_of(const struct elf_file *e, u64 vaddr)
{
    const struct elf_segment *l = elf_segment_at(e, vaddr, PF_X);
    return l ? vaddr - l->vaddr + l->offset : 0;
}

/* ---- Labels ----------------------------------------------------------------------------------------------------- */

/* The first instruction of a function is no label of it: most pointers are to those. */
static bool label_begins(struct search *s, u64 to)
{
    return function_at(&s->functions, to, &s->start, &s->end) && to != s->start;
}

static bool label_continues(struct search *s, u64 to)
{
    return to > s->start && to < s->end;
}

static void labels_end(struct search *s)
{
    s->best = s->n;
    s->best_start = s->start;
    s->best_end = s->end;
}

bool labels_function(const struct elf_file *e, size_t least, u64 *start, u64 *end)
{
    struct search s = {
        .e = e, .least = least, .begins = label_begins, .continues = label_continues, .ends = labels_end};
    search(&s);
    *start = s.best ? offset_of(e, s.best_start) : 0;
    *end = *start + (s.best_end - s.best_start);
    return *start;
}

/* ---- Functions -------------------------------------------------------------------------------------------------- */

#define MANY_HANDLERS 128 /* of an interpreter: different ones */
#define ALIKE         8   /* instructions that there are not */

static bool handler_is(struct search *s, u64 to)
{
    u64 start, end;
    return function_at(&s->functions, to, &start, &end) && to == start;
}

static int by_value(const void *a, const void *b)
{
    const u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return x < y ? -1 : x > y;
}

static void handlers_end(struct search *s)
{
    size_t n = s->n < LABELS_MAX ? s->n : LABELS_MAX, different = 0, alike = 0, most = 0;
    qsort(s->to, n, sizeof(*s->to), by_value);
    for (size_t i = 0; i < n; i++) {
        alike = i && s->to[i] == s->to[i - 1] ? alike + 1 : 1;
        most = alike > most ? alike : most;
        if (alike == 1)
            s->to[different++] = s->to[i];
    }
    if (different < MANY_HANDLERS || most < ALIKE)
        return;
    s->best = different;
    memcpy(s->handlers, s->to, different * sizeof(*s->to));
}

size_t labels_handlers(const struct elf_file *e, u64 starts[LABELS_MAX])
{
    struct search s = {
        .e = e, .least = LABELS_HANDLERS, .begins = handler_is, .continues = handler_is, .ends = handlers_end};
    search(&s);
    for (size_t i = 0; i < s.best; i++)
        starts[i] = offset_of(e, s.handlers[i]);
    return s.best;
}
