#include "synth/code.h"
#include "base/cleanup.h"
#include "synth/insn.h"
#include <errno.h>
#include <string.h>

size_t code_padding(const u8 *p, size_t n)
{
    struct insn x;
    size_t i = 0;
    if (!n)
        return 0;
    if (p[0] == 0xcc || p[0] == 0x90)
        return 1;
    if (!p[0])
        return n == 1 ? 1 : p[1] ? 0 : 2;
    while (i < n && i < INSN_MAX_BYTES && (p[i] == 0x66 || p[i] == 0x2e || p[i] == 0x48))
        i++;
    if (i == n || (p[i] != 0x90 && (p[i] != 0x0f || n - i < 2 || p[i + 1] != 0x1f)))
        return 0;
    return insn_decode(p, n, &x) && x.op == INSN_NOP ? x.len : 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct code_span *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* What of [addr, addr + len) is in an executable segment of the file. */
static int add_span(struct code *c, u64 addr, u64 len)
{
    const struct elf_segment *s = elf_segment_at(c->elf, addr, PF_X);
    if (!s || !len)
        return 0;
    u64 left = s->filesz - (addr - s->vaddr), offset = s->offset + (addr - s->vaddr);
    struct code_span *n = VEC_PUSH(&c->executable);
    if (!n)
        return -ENOMEM;
    *n = (struct code_span){.offset = offset, .end = offset + (len < left ? len : left), .addr = addr};
    return 0;
}

/* Executable sections, because older linkers put read-only data into the same segment; segments where there are none.
 */
static int find_executable(struct code *c)
{
    struct elf_section s;
    int err = 0;
    for (u32 i = 0; i < c->elf->shnum && !err; i++)
        if (elf_section_at(c->elf, i, &s) && s.type == SHT_PROGBITS &&
            (s.flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR))
            err = add_span(c, s.addr, s.len);
    bool sections = c->executable.n;
    for (size_t i = 0; i < c->elf->nloads && !sections && !err; i++)
        if (c->elf->loads[i].flags & PF_X)
            err = add_span(c, c->elf->loads[i].vaddr, c->elf->loads[i].filesz);
    if (err || !c->executable.n)
        return err;
    qsort(c->executable.v, c->executable.n, sizeof(*c->executable.v), by_offset);
    size_t kept = 0; /* those that begin inside of another, or whose address goes back, are a hostile file's */
    for (size_t i = 0; i < c->executable.n; i++) {
        struct code_span *v = c->executable.v;
        if (!kept ||
            (v[i].offset >= v[kept - 1].end && v[i].addr >= v[kept - 1].addr + (v[kept - 1].end - v[kept - 1].offset)))
            v[kept++] = v[i];
    }
    c->executable.n = kept;
    return 0;
}

/* Bytes [from, to) of a span have no rows. */
static int add_gap(struct code *c, const struct code_span *s, u64 from, u64 to, u64 max)
{
    const u8 *p = c->elf->map;
    size_t n;
    c->gap_bytes += to - from;
    while (from < to && (n = code_padding(p + from, to - from)))
        from += n;
    if (from >= to)
        return 0;
    if (c->size + (to - from) > max)
        return -ENOSPC;
    struct code_gap *g = VEC_PUSH(&c->gaps);
    if (!g)
        return -ENOMEM;
    u64 start = s->addr + (from - s->offset);
    *g = (struct code_gap){
        .start = start, .end = start + (to - from), .offset = from, .bytes = p + from, .base = c->size};
    c->size += (u32)(to - from) + 1;
    return 0;
}

static int subtract(struct code *c, u64 max)
{
    size_t k = 0;
    for (size_t i = 0; i < c->executable.n; i++) {
        const struct code_span *s = &c->executable.v[i];
        u64 done = s->offset;
        while (k < c->ncovered && c->covered[k].end <= done)
            k++;
        for (; k < c->ncovered && c->covered[k].start < s->end; k++) {
            int err = c->covered[k].start > done ? add_gap(c, s, done, c->covered[k].start, max) : 0;
            if (err)
                return err;
            done = c->covered[k].end;
            if (done >= s->end) /* it may reach into the next span, too */
                break;
        }
        int err = done < s->end ? add_gap(c, s, done, s->end, max) : 0;
        if (err)
            return err;
    }
    return 0;
}

static bool ascend(const struct synth_span *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].start >= v[i].end || (i && v[i].start < v[i - 1].end))
            return false;
    return true;
}

int code_list(struct code *c, const struct elf_file *e, const struct synth_span *covered, size_t n, u64 max_bytes)
{
    if (!ascend(covered, n))
        return -EINVAL;
    c->elf = e;
    c->covered = covered;
    c->ncovered = n;
    int err = find_executable(c);
    if (!err)
        err = subtract(c, max_bytes < 1u << 31 ? max_bytes : 1u << 31);
    return err ? err : c->size ? 0 : -ENODATA;
}

int code_read(struct code *c, const struct elf_file *e, const struct synth_span *covered, size_t n, u64 max_bytes)
{
    int err = code_list(c, e, covered, n, max_bytes < CODE_MAX_BYTES ? max_bytes : CODE_MAX_BYTES);
    if (err)
        return err;
    c->marks = calloc(c->size, 1);
    return c->marks ? 0 : -ENOMEM;
}

void code_free(struct code *c)
{
    vec_free(&c->executable);
    vec_free(&c->gaps);
    free(c->marks);
    *c = (struct code){0};
}

bool code_find(struct code *c, u64 pc, u32 *at)
{
    const struct code_gap *g = c->gaps.v + c->last;
    if (!c->gaps.n)
        return false;
    if (pc < g->start || pc >= g->end) {
        size_t lo = 0, hi = c->gaps.n;
        while (lo < hi) {
            size_t mid = (lo + hi) / 2;
            if (c->gaps.v[mid].start <= pc)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (!lo || pc >= c->gaps.v[lo - 1].end)
            return false;
        c->last = lo - 1;
        g = c->gaps.v + c->last;
    }
    *at = g->base + (u32)(pc - g->start);
    return true;
}

const struct code_gap *code_gap_of(const struct code *c, u32 at)
{
    size_t lo = 0, hi = c->gaps.n;
    const struct code_gap *last = c->gaps.v + c->last;
    if (at >= last->base && at - last->base < last->end - last->start)
        return last;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (c->gaps.v[mid].base <= at)
            lo = mid;
        else
            hi = mid;
    }
    return c->gaps.v + lo;
}

const struct synth_span *code_span_of(const struct code *c, u64 pc)
{
    const struct elf_segment *s = elf_segment_at(c->elf, pc, PF_X);
    size_t lo = 0, hi = c->ncovered;
    if (!s)
        return NULL;
    u64 offset = s->offset + (pc - s->vaddr);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (c->covered[mid].start <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo && offset < c->covered[lo - 1].end ? &c->covered[lo - 1] : NULL;
}

int code_by_number(const void *a, const void *b)
{
    u32 x = *(const u32 *)a, y = *(const u32 *)b;
    return x < y ? -1 : x > y;
}
