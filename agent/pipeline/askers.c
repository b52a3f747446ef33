#include "pipeline/askers.h"
#include "base/hash.h"
#include "profile/reason.h"
#include <errno.h>
#include <stdlib.h>

struct search {
    struct askers *out;
    const struct turns *turns;
    struct map seen; /* pairs of a file and a cgroup */
};

static int add(struct search *s, u32 file, u32 process)
{
    u64 cgroup = s->out->processes[process].cgroup;
    u64 *seen = map_put(&s->seen, hash_u64(file ^ hash_u64(cgroup)));
    if (!seen)
        return -ENOMEM;
    if (*seen)
        return 0;
    struct asker *a = VEC_PUSH(&s->out->all);
    if (!a)
        return -ENOMEM;
    *a = (struct asker){file, process, turns_spent(s->turns, cgroup)};
    *seen = 1;
    return 0;
}

/* Neighbouring frames are mostly of the same file. */
static int add_stack(struct search *s, const struct agg_stack *stack)
{
    u64 last = ~0ull;
    for (size_t i = 0; i < (size_t)stack->nkernel + stack->nuser; i++) { /* locks and wakers are among the kernel's */
        u64 word = stack->words[i];
        u32 file = XP_WORD_FILE(word);
        if (!word_in_file(word) || file == last)
            continue;
        if (add(s, file, stack->process))
            return -ENOMEM;
        last = file;
    }
    return 0;
}

static int by_time(const void *x, const void *y)
{
    const struct asker *a = x, *b = y;
    if (a->spent_ns != b->spent_ns)
        return a->spent_ns < b->spent_ns ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->process < b->process ? -1 : a->process > b->process;
}

static int find_payers(struct askers *a)
{
    for (size_t i = a->all.n; i-- > 0;) { /* the first one stays */
        u64 *at = map_put(&a->payer, a->all.v[i].file);
        if (!at)
            return -ENOMEM;
        *at = i;
    }
    return 0;
}

int askers_find(struct askers *a, const struct aggregate *stacks, const struct turns *turns)
{
    struct search s = {.out = a, .turns = turns};
    size_t n, nprocesses;
    const struct agg_stack *all = aggregate_stacks(stacks, &n);
    *a = (struct askers){.processes = aggregate_processes(stacks, &nprocesses)};
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = add_stack(&s, &all[i]);
    map_free(&s.seen);
    if (!rc && a->all.n)
        qsort(a->all.v, a->all.n, sizeof(*a->all.v), by_time);
    rc = rc ? rc : find_payers(a);
    if (rc)
        askers_free(a);
    return rc;
}

u64 askers_payer(const struct askers *a, u32 file)
{
    const u64 *at = map_get(&a->payer, file);
    return at ? a->processes[a->all.v[*at].process].cgroup : 0;
}

void askers_free(struct askers *a)
{
    vec_free(&a->all);
    map_free(&a->payer);
}
