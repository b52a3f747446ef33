/* The events of all CPUs as one row: a heap of their next ones. */
#include "timeline/store.h"
#include <errno.h>
#include <stdlib.h>

struct source {
    struct tl_cursor at;
    struct tl_event next;
};

static bool earlier(const struct source *a, const struct source *b)
{
    return a->next.time != b->next.time ? a->next.time < b->next.time : a->at.cpu < b->at.cpu;
}

static void sink(struct source *heap, u32 n, u32 i)
{
    for (u32 child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && earlier(&heap[child + 1], &heap[child]))
            child++;
        if (!earlier(&heap[child], &heap[i]))
            return;
        struct source s = heap[i];
        heap[i] = heap[child];
        heap[child] = s;
    }
}

static u32 fill(const struct tl_store *s, struct source *heap)
{
    u32 n = 0;
    for (u32 c = 0; c < store_machine(s)->ncpus; c++) {
        struct source first = {.at = store_events(s, c)};
        if (chunk_next(&first.at, true, &first.next))
            heap[n++] = first;
    }
    for (u32 i = n / 2; i-- > 0;)
        sink(heap, n, i);
    return n;
}

static void play(const struct tl_store *s, struct tl_machine *m, struct source *heap, const struct tl_visitor *v)
{
    u32 n = fill(s, heap);
    while (n) {
        machine_apply(m, &heap[0].next, v);
        if (!chunk_next(&heap[0].at, true, &heap[0].next))
            heap[0] = heap[--n];
        sink(heap, n, 0);
    }
}

int store_replay(const struct tl_store *s, u64 end, const struct tl_visitor *v)
{
    struct tl_machine m;
    struct source *heap = calloc(store_machine(s)->ncpus, sizeof(*heap));
    int rc = machine_copy(&m, store_machine(s)) || !heap ? -ENOMEM : 0;
    if (!rc) {
        play(s, &m, heap, v);
        machine_end(&m, end, v);
    }
    machine_free(&m);
    free(heap);
    return rc;
}
