/* Lists of FDEs: which code does which program cover? The programs themselves are cfi_run.c's. */
#include "cfi/entry.h"
#include "cfi/sort.h"
#include <errno.h>

#define MAX_INFLATED (256u << 20)

/* The number of the CIE at an offset, read once; -ENOSPC (too many), -ENOMEM. An unusable one is remembered as such. */
static int find_cie(struct cfi *c, unsigned section, u64 offset)
{
    u64 *known = map_put(&c->by_offset, (u64)section << 63 | offset);
    if (!known)
        return -ENOMEM;
    if (*known)
        return (int)(*known - 1);
    if (c->cies.n == CFI_MAX_CIES)
        return -ENOSPC;
    struct cfi_cie *cie = VEC_PUSH(&c->cies);
    if (!cie)
        return -ENOMEM;
    *cie = (struct cfi_cie){.section = (u8)section, .encoding = DW_EH_PE_absptr};
    cfi_parse_cie(c, offset, cie);
    *known = c->cies.n;
    return (int)(c->cies.n - 1);
}

struct lister {
    struct cfi *c;
    const struct cfi_section *s;
    const struct elf_segment *seg; /* of the last FDE */
    u64 cie_offset;                /* of the last FDE's CIE; nearly always the next one's too */
    int cie;
    unsigned section;
    size_t max;
    bool sorted;
};

/* Adds code [start, start + len) when an executable segment holds it; what the linker dropped is at 0 or nowhere. */
static int add_fde(struct lister *l, u64 start, u64 len, const u8 *entry)
{
    struct cfi *c = l->c;
    if (!l->seg || start - l->seg->vaddr >= l->seg->filesz) {
        const struct elf_segment *seg = elf_segment_at(c->elf, start, PF_X);
        if (!seg)
            return 0;
        l->seg = seg;
    }
    u64 in = start - l->seg->vaddr, left = l->seg->filesz - in;
    if (!len || l->seg->offset + in >= 1ull << XP_OFFSET_BITS)
        return 0;
    if (c->fdes.n == l->max)
        return -ENOSPC;
    struct cfi_fde *f = VEC_PUSH(&c->fdes);
    if (!f)
        return -ENOMEM;
    len = len < left ? len : left;
    *f = (struct cfi_fde){
        .start = l->seg->offset + in,
        .cie = (u32)l->cie,
        .len = len < UINT32_MAX ? (u32)len : UINT32_MAX,
        .at = (u32)(entry - l->s->data),
    };
    l->sorted &= c->fdes.n == 1 || f[-1].start < f->start;
    return 0;
}

static int read_fde(struct lister *l, const u8 *entry, const struct cfi_entry *e)
{
    struct cfi *c = l->c;
    u64 start, len, offset = l->s->debug ? e->value : (u64)(e->id - l->s->data) - e->value;
    if (offset != l->cie_offset || l->cie < 0) {
        int cie = find_cie(c, l->section, offset & ~(1ull << 63));
        if (cie < 0)
            return cie;
        l->cie = cie;
        l->cie_offset = offset;
    }
    const u8 *p = e->body;
    if (!cfi_fde_range(l->s, &c->cies.v[l->cie], &p, e->next, &start, &len)) {
        c->bad++;
        return 0;
    }
    c->ins_bytes += (size_t)(e->next - p);
    return add_fde(l, start, len, entry);
}

static int list_section(struct cfi *c, unsigned section, size_t max, bool *sorted)
{
    struct lister l = {.c = c, .s = &c->section[section], .cie = -1, .section = section, .max = max, .sorted = *sorted};
    const u8 *p = l.s->data, *end = p + (l.s->len < CFI_MAX_SECTION ? l.s->len : CFI_MAX_SECTION);
    u64 cie_id = l.s->debug ? ~0ull : 0;
    struct cfi_entry e;
    for (; p < end; p = e.next) {
        int what = cfi_read_entry(p, end, l.s->debug, &e);
        if (what < 0) {
            c->bad += end - p >= 4 && !l.s->open_ended; /* the rest is lost */
            break;
        }
        if (what == 0 && l.s->open_ended)
            break;
        if (what == 0 || e.value == cie_id)
            continue;
        int err = read_fde(&l, p, &e);
        if (err)
            return err;
    }
    *sorted = l.sorted;
    return 0;
}

/* Of FDEs with one start the first stays; otherwise the later start wins, as it does in the binary search of
 * .eh_frame_hdr; and .debug_frame adds only what .eh_frame leaves out. */
static void resolve_overlaps(struct cfi *c)
{
    struct cfi_fde *v = c->fdes.v, *to = v, *end = v + c->fdes.n;
    u64 eh_end = 0;
    for (struct cfi_fde *f = v; f < end; f++) {
        bool debug = c->nsections > 1 && c->section[c->cies.v[f->cie].section].debug;
        if (debug && f->start < eh_end)
            continue;
        if (to > v && f->start - to[-1].start < to[-1].len) {
            if (f->start == to[-1].start)
                continue;
            to[-1].len = (u32)(f->start - to[-1].start);
        }
        if (!debug && f->start + f->len > eh_end)
            eh_end = f->start + f->len;
        if (to != f)
            *to = *f;
        to++;
    }
    c->fdes.n = (size_t)(to - v);
}

int cfi_list(struct cfi *c, size_t max_fdes)
{
    bool sorted = true;
    int err = 0;
    for (unsigned i = 0; i < c->nsections; i++)
        if (!c->section[i].open_ended)
            elf_will_read(c->elf, c->section[i].data, c->section[i].len);
    for (unsigned i = 0; i < c->nsections && !err; i++)
        err = list_section(c, i, max_fdes, &sorted);
    if (!err && !sorted) /* so there are some */
        err = cfi_sort(&c->fdes.v, c->fdes.n);
    if (!err && c->fdes.n)
        resolve_overlaps(c);
    return err;
}

/* Without section headers: .eh_frame_hdr says where .eh_frame begins (LSB 5, 10.6.2); it ends with its segment. */
static bool find_by_header(const struct elf_file *e, struct cfi_section *out)
{
    Elf64_Phdr h;
    size_t left;
    u64 vaddr;
    if (!elf_find_phdr(e, PT_GNU_EH_FRAME, &h))
        return false;
    const u8 *hdr = elf_at(e, h.p_vaddr, &left);
    if (!hdr || left < 8 || hdr[0] != 1)
        return false;
    const u8 *p = hdr + 4;
    struct cfi_section self = {.data = hdr, .len = left, .vaddr = h.p_vaddr};
    if (!cfi_pointer(&self, hdr[1], &p, hdr + left, &vaddr))
        return false;
    const u8 *data = elf_at(e, vaddr, &left);
    if (!data)
        return false;
    *out = (struct cfi_section){.data = data, .len = left, .vaddr = vaddr, .open_ended = true};
    return true;
}

void cfi_find(struct cfi *c, const struct elf_file *e)
{
    struct elf_section s;
    c->elf = e;
    if (elf_section(e, ".eh_frame", &s)) { /* without content in a file of debug information */
        if (s.len && !(s.flags & SHF_COMPRESSED))
            c->section[c->nsections++] = (struct cfi_section){.data = s.data, .len = s.len, .vaddr = s.addr};
    } else if (find_by_header(e, &c->section[0])) {
        c->nsections++;
    }
    if (elf_section(e, ".debug_frame", &s) && s.len && !elf_section_bytes(&s, MAX_INFLATED, &c->inflated))
        c->section[c->nsections++] =
            (struct cfi_section){.data = c->inflated.data, .len = c->inflated.len, .vaddr = s.addr, .debug = true};
}

int cfi_read(struct cfi *c, const struct elf_file *e, size_t max_fdes)
{
    struct cfi new = {0};
    cfi_find(&new, e);
    int err = cfi_list(&new, max_fdes);
    if (err)
        cfi_free(&new);
    else
        *c = new;
    return err;
}

void cfi_free(struct cfi *c)
{
    elf_bytes_free(&c->inflated);
    vec_free(&c->cies);
    vec_free(&c->fdes);
    map_free(&c->by_offset);
    *c = (struct cfi){0};
}

const struct cfi_fde *cfi_fde_at(const struct cfi *c, u64 offset)
{
    size_t lo = 0, hi = c->fdes.n; /* the last one with start <= offset is at lo - 1 */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->fdes.v[mid].start <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    const struct cfi_fde *f = lo ? &c->fdes.v[lo - 1] : NULL;
    return f && offset - f->start < f->len ? f : NULL;
}
