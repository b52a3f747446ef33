/* Where a thread has its interpreter: by pthread_setspecific, with the key PL_thr_key. What a C library makes of that
 * (runtime/thread_slots.h) is checked with a thread that has one. Nothing in Perl tells where the TLS base of a thread
 * is, but what is there begins with its own address, in memory of no file, at the end of what was mapped at once.
 */
#include "runtime/perl_internal.h"
#include "runtime/sound.h"
#include "runtime/thread_slots.h"
#include <errno.h>
#include <string.h>

#define MAX_KEYS   1024
#define MUSL_KEYS  (MUSL_VALUES / 8)
#define MAX_PAGES  8192 /* that are searched */
#define END_PAGES  64   /* of the end of a mapping */
#define HEAD_PAGES 8    /* of its start: programs that are linked statically */
#define MAX_FOUND  64   /* threads that are looked at */

struct search {
    struct memory *m;
    struct perl_found *f;
    u32 pages;
};

static bool is_value(struct search *s, u64 at)
{
    bool ok = true;
    u64 value = memory_u(s->m, at, sizeof(u64), &ok);
    return ok && perl_is_interpreter(s->m, &s->f->p.machine.perl, value);
}

static void found(struct search *s, u64 tls, u32 slot)
{
    s->f->p.machine.tls = (s64)tls;
    s->f->p.machine.slot = slot;
    s->f->threads++;
}

static void try_glibc(struct search *s, u64 base)
{
    u64 key = s->f->key, block = GLIBC_BLOCKS + 8 * (key / GLIBC_KEYS);
    bool ok = true;
    if (key < GLIBC_KEYS) {
        if (is_value(s, base + GLIBC_FIRST + 16 * key))
            found(s, GLIBC_FIRST + 16 * key, 0);
        return;
    }
    u64 values = memory_u(s->m, base + block, sizeof(u64), &ok), at = 16 * (key % GLIBC_KEYS) + 8;
    if (ok && values && is_value(s, values + at))
        found(s, block, (u32)at + 1);
}

static void try_musl(struct search *s, u64 base)
{
    u64 key = s->f->key;
    for (u32 offset = 8; offset < MUSL_POINTERS && key < MUSL_KEYS; offset += 8) {
        bool ok = true;
        u64 values = memory_u(s->m, base + offset, sizeof(u64), &ok);
        if (ok && values && values % 8 == 0 && is_value(s, values + 8 * key)) {
            found(s, offset, (u32)(8 * key) + 1);
            return;
        }
    }
}

static void search_page(struct search *s, u64 page)
{
    u64 words[MEMORY_PAGE / 8];
    s->pages++;
    if (!memory_read(s->m, page, words, sizeof(words)))
        return;
    for (u32 i = 0; i < MEMORY_PAGE / 8 && s->f->threads < MAX_FOUND; i++) {
        bool ok = true;
        u64 base = page + 8 * i;
        if (words[i] != base)
            continue;
        if (memory_u(s->m, base + GLIBC_SELF, sizeof(u64), &ok) == base && ok)
            try_glibc(s, base);
        else
            try_musl(s, base);
    }
}

static void search_mapping(struct search *s, const struct mapping *map)
{
    u64 end = map->end & ~(u64)(MEMORY_PAGE - 1);
    for (u64 n = 0, page = end; n < END_PAGES && page > map->start && s->pages < MAX_PAGES; n++)
        search_page(s, page -= MEMORY_PAGE);
    if (end - map->start <= END_PAGES * MEMORY_PAGE)
        return;
    for (u64 n = 0; n < HEAD_PAGES && s->pages < MAX_PAGES; n++)
        search_page(s, map->start + n * MEMORY_PAGE);
}

int perl_threads(struct memory *m, struct perl_found *f)
{
    struct search s = {.m = m, .f = f};
    if (f->p.layout.build != PERL_THREADS)
        return 0;
    if (f->key >= MAX_KEYS)
        return -ENOTSUP;
    for (size_t i = m->maps.n; i-- && s.pages < MAX_PAGES && f->threads < MAX_FOUND;)
        if (m->maps.v[i].read && m->maps.v[i].write && m->maps.v[i].plain && !m->maps.v[i].shared)
            search_mapping(&s, &m->maps.v[i]);
    return f->threads ? 0 : -ENOTSUP;
}
