#include "pipeline/waits_made_test.h"
#include "base/cleanup.h"
#include <stdlib.h>
#include <string.h>

void waits_see(void *ctx, const struct xp_sample *s, const struct xp_amount *values, size_t n)
{
    struct seen *to = ctx;
    to->n++;
    to->last = *s;
    memcpy(to->values, values, n * sizeof(*values));
    to->nvalues = n;
    memcpy(to->words, s->words, 8 * ((size_t)s->nkernel + s->nuser));
}

void waits_keep_made(struct waits *w, u64 key, u64 cgroup, u64 base, size_t n, bool open)
{
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + 8 * n);
    if (!s)
        return;
    *s = (struct xp_sample){.type = XP_RECORD_STACK, .weight = key, .cgroup = cgroup, .tgid = cgroup ? 42 : 0};
    *(cgroup ? &s->nuser : &s->nkernel) = (u16)n;
    for (size_t i = 0; i < n; i++)
        s->words[i] = base + i;
    waits_keep(w, s, open);
}

int waits_end_with(struct waits *w, struct xp_wait_key key, struct xp_wait sum, struct seen *seen)
{
    struct probe_wait row = {.key = key, .sum = sum};
    struct probe_waits rows = {.sums = {.v = &row, .n = 1, .cap = 1}};
    *seen = (struct seen){0};
    return waits_take(w, &rows, &WAITS_EVENTS, waits_see, seen);
}

int waits_end_none(struct waits *w)
{
    struct probe_waits rows = {0};
    return waits_take(w, &rows, &WAITS_EVENTS, waits_see, NULL);
}
