/* Where a thread has its interpreter: by pthread_setspecific, with the key PL_thr_key. What a C library makes of that
 * (runtime/thread_block.h) is checked with a thread that has one. Nothing in Perl tells where the TLS base of a thread
 * is, but what is there begins with its own address, in memory of no file, at the end of what was mapped at once.
 */
#include "runtime/perl_internal.h"
#include "runtime/sound.h"
#include "runtime/thread_block.h"
#include <errno.h>
#include <string.h>

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

static bool try_place(struct search *s, u64 tls, struct thread_place place)
{
    bool ok = true;
    u64 value = thread_block_value(s->m, tls, place, &ok);
    if (!ok || !value || !perl_is_interpreter(s->m, &s->f->p.machine.perl, value))
        return false;
    s->f->p.machine.tls = place.tls;
    s->f->p.machine.slot = place.slot;
    s->f->threads++;
    return true;
}

static void try_musl(struct search *s, u64 tls)
{
    u32 key = (u32)s->f->key, slot = 8 * key + 1;
    bool found = key >= MUSL_KEYS;
    for (u32 offset = 8; offset < MUSL_POINTERS && !found; offset += 8)
        found = try_place(s, tls, (struct thread_place){offset, slot});
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
            try_place(s, base, thread_block_glibc((u32)s->f->key));
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
    if (f->key >= GLIBC_MAX_KEYS)
        return -ENOTSUP;
    for (size_t i = m->maps.n; i-- && s.pages < MAX_PAGES && f->threads < MAX_FOUND;)
        if (m->maps.v[i].read && m->maps.v[i].write && m->maps.v[i].plain && !m->maps.v[i].shared)
            search_mapping(&s, &m->maps.v[i]);
    return f->threads ? 0 : -ENOTSUP;
}
