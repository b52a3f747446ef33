/* Programs in Go among those whose allocations are wanted: what they allocate is read, not probed. */
#include "pipeline/heaps_internal.h"
#include "opener/opener.h"

/* By a child: memory of a process may be in a file that does not answer. go_heaps.c remembers that. */
static int read_memory(void *ctx, u32 tgid, u64 at, void *to, size_t len)
{
    struct heaps *h = ctx;
    return opener_memory(h->files.opener, tgid, at, to, len);
}

int heaps_go_new(struct heaps *h, bool since_start)
{
    struct go_heaps_config config = {.event = h->event,
                                     .since_start = since_start,
                                     .read = read_memory,
                                     .ctx = h,
                                     .hung = h->config.hung,
                                     .limit = GO_HEAPS_BYTES,
                                     .refused = &h->figures.go_refused};
    h->files.go = true;
    return go_heaps_new(&h->go, &config);
}

void heaps_go_follow(struct heaps *h, const struct xp_mapping *m, const struct go_heap *where)
{
    probe_processes wanted = {0};
    if (h->go && !probe_heap_wanted(h->probe, h->event, &wanted))
        for (size_t i = 0; i < wanted.n; i++)
            if (wanted.v[i].tgid == m->tgid)
                go_heaps_follow(h->go, &wanted.v[i], m, where);
    vec_free(&wanted);
}

void heaps_take(struct heaps *h, waits_use *use, void *ctx)
{
    if (h->go)
        go_heaps_take(h->go, use, ctx);
}

void heaps_begin(struct heaps *h)
{
    if (h->go)
        go_heaps_begin(h->go);
}
