#include "files/machine_memory.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGES 128 /* 512 KB: the blobs and methods of some dozens of stacks */
#define PAGE  4096u

struct page {
    u64 at, start; /* start: of its process; 0: none */
    u32 tgid, len;
};
struct machine_memory {
    struct machine_source from;
    struct xp_machine machine;
    const struct xp_sample *sample;
    const struct xp_dump *dump;
    bool failed; /* the process does not answer */
    struct page pages[PAGES];
    u8 bytes[PAGES][PAGE]; /* apart: to forget pages touches none of those that are not used */
};

int machine_memory_new(struct machine_memory **out, const struct machine_source *from)
{
    struct machine_memory *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->from = *from;
    *out = m;
    return 0;
}

void machine_memory_free(struct machine_memory **m)
{
    free(*m);
    *m = NULL;
}

const struct xp_machine *machine_memory_begin(struct machine_memory *m, const struct xp_sample *s,
                                              const struct xp_dump *d)
{
    if (!m)
        return NULL;
    m->sample = s;
    m->dump = d;
    m->failed = false;
    return m->from.find(m->from.ctx, s->tgid, s->start, &m->machine) ? &m->machine : NULL;
}

bool machine_memory_sleeps(const struct machine_memory *m)
{
    return m && m->from.sleeps && m->from.sleeps(m->sample, m->dump);
}

/* The page at an address, which is a multiple of its size; NULL: it cannot be read. */
static const u8 *page_of(struct machine_memory *m, u64 at, u32 *len)
{
    const struct xp_sample *s = m->sample;
    u64 place = (at / PAGE ^ s->tgid) % PAGES;
    struct page *p = &m->pages[place];
    *len = p->len;
    if (p->start == s->start && p->tgid == s->tgid && p->at == at)
        return m->bytes[place];
    p->start = 0;
    int n = m->failed ? -EIO : m->from.read(m->from.ctx, s, at, m->bytes[place], PAGE);
    m->failed |= n == -EREMOTEIO;
    if (n <= 0)
        return NULL;
    p->start = s->start;
    p->tgid = s->tgid;
    p->at = at;
    *len = p->len = (u32)n;
    return m->bytes[place];
}

static int read_now(struct machine_memory *m, u8 *to, u32 len, u64 from)
{
    while (len) {
        u32 there, in = (u32)(from % PAGE), n = len < PAGE - in ? len : PAGE - in;
        const u8 *page = page_of(m, from - in, &there);
        if (!page || in + n > there)
            return 1;
        memcpy(to, page + in, n);
        to += n;
        from += n;
        len -= n;
    }
    return 0;
}

/* The pages that a range above the copy's start reaches into, as bits like those of `absent`; 0: more than that has. */
static u32 pages_of(const struct xp_dump *d, u64 at, u32 len)
{
    u64 in = d->regs.r[7] % PAGE, first = (in + at) / PAGE, last = (in + at + (len ? len - 1 : 0)) / PAGE;
    return at < 32 * PAGE && last < 32 ? (u32)((2ull << last) - (1ull << first)) : 0;
}

int dump_read(void *dump, void *to, u32 len, u64 from)
{
    const struct xp_dump *d = dump;
    u64 at = from - d->regs.r[7];
    u32 pages = pages_of(d, at, len);
    if (!pages || pages & d->absent)
        return 1;
    at -= (u64)PAGE * (u64)__builtin_popcount(d->absent & ((pages & -pages) - 1));
    if (at > d->len || len > d->len - at)
        return 1;
    memcpy(to, d->stack + at, len);
    return 0;
}

/* What is read first, and only then known to be as it was. Not by pages that are kept: the thread may have run since.
 */
static int read_asleep(struct machine_memory *m, void *to, u32 len, u64 from)
{
    int n = m->failed ? -EIO : m->from.read(m->from.ctx, m->sample, from, to, len);
    m->failed |= n == -EREMOTEIO;
    return n != (int)len || !machine_memory_sleeps(m);
}

int machine_memory_copy(void *memory, void *to, u32 len, u64 from)
{
    return dump_read((void *)((struct machine_memory *)memory)->dump, to, len, from);
}

int machine_memory_stack(void *memory, void *to, u32 len, u64 from)
{
    struct machine_memory *m = memory;
    if (!dump_read((void *)m->dump, to, len, from))
        return 0;
    return machine_memory_sleeps(m) ? read_asleep(m, to, len, from) : 1;
}

int machine_memory_read(void *memory, void *to, u32 len, u64 from)
{
    const struct machine_memory *m = memory;
    return dump_read((void *)m->dump, to, len, from) ? read_now(memory, to, len, from) : 0;
}

void machine_memory_forget(struct machine_memory *m)
{
    if (m)
        memset(m->pages, 0, sizeof(m->pages));
}
