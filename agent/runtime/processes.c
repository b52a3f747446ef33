#include "runtime/processes.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include <errno.h>

struct set {
    const struct runtime_process_ops *ops;
    void *set;
};
struct runtime_processes {
    struct runtime_reader reader;
    VEC(struct set) sets; /* one per runtime that has processes */
};

static const struct runtime_process_ops *recogniser(const struct xp_sample *s)
{
    size_t n;
    const struct runtime *const *all = runtimes(&n);
    for (size_t i = 0; i < n; i++)
        if (all[i]->process && all[i]->process->recognise(s))
            return all[i]->process;
    return NULL;
}

bool runtime_recognises(const struct xp_sample *s, struct runtime_process *out)
{
    const struct runtime_process_ops *ops = recogniser(s);
    if (ops)
        *out = (struct runtime_process){.ops = ops, .tgid = s->tgid, .start = s->start};
    return ops;
}

bool runtime_process_open(struct opener *o, struct runtime_process *p)
{
    p->process = p->ops->open(o, p->tgid, p->start);
    return p->process;
}

void runtime_process_close(struct runtime_process *p)
{
    if (p->process)
        p->ops->close(p->process);
    *p = (struct runtime_process){0};
}

int runtime_processes_new(struct runtime_processes **out, struct runtime_reader reader)
{
    size_t n;
    const struct runtime *const *all = runtimes(&n);
    CLEANUP(runtime_processes_free) struct runtime_processes *p = calloc(1, sizeof(*p));
    if (p)
        p->reader = reader;
    for (size_t i = 0; p && i < n; i++) {
        if (!all[i]->process)
            continue;
        struct set *s = VEC_PUSH(&p->sets);
        if (!s)
            return -ENOMEM;
        *s = (struct set){.ops = all[i]->process};
        if (s->ops->set_new(&s->set, reader))
            return -ENOMEM;
    }
    if (!p)
        return -ENOMEM;
    *out = TAKE_PTR(p);
    return 0;
}

void runtime_processes_free(struct runtime_processes **pp)
{
    struct runtime_processes *p = *pp;
    if (!p)
        return;
    for (size_t i = 0; i < p->sets.n; i++)
        if (p->sets.v[i].set)
            p->sets.v[i].ops->set_free(p->sets.v[i].set);
    vec_free(&p->sets);
    free(p);
    *pp = NULL;
}

void runtime_processes_add(struct runtime_processes *all, struct runtime_process *p)
{
    for (size_t i = 0; i < all->sets.n; i++)
        if (all->sets.v[i].ops == p->ops && p->process)
            all->sets.v[i].ops->set_add(all->sets.v[i].set, TAKE_PTR(p->process));
    runtime_process_close(p);
}

void runtime_processes_add_pid(struct runtime_processes *all, u32 tgid, u64 start)
{
    for (size_t i = 0; i < all->sets.n; i++) {
        void *process = all->sets.v[i].ops->open(all->reader.opener, tgid, start);
        if (process)
            all->sets.v[i].ops->set_add(all->sets.v[i].set, process);
    }
}

void runtime_processes_add_symbols(struct runtime_processes *all, u32 tgid, u64 start, u64 owner, const char *text,
                                   size_t len)
{
    for (size_t i = 0; i < all->sets.n; i++)
        if (all->sets.v[i].ops->set_symbols)
            all->sets.v[i].ops->set_symbols(all->sets.v[i].set, tgid, start, owner, text, len);
}

int runtime_processes_names(struct runtime_processes *all, u32 tgid, u64 start, const u64 *addresses, size_t n,
                            void (*use)(void *arg, const struct names *names), void *arg)
{
    int rc = -ENOENT;
    for (size_t i = 0; i < all->sets.n && rc == -ENOENT; i++)
        rc = all->sets.v[i].ops->set_names(all->sets.v[i].set, tgid, start, addresses, n, use, arg);
    return rc;
}

void runtime_processes_age(struct runtime_processes *all)
{
    for (size_t i = 0; i < all->sets.n; i++)
        all->sets.v[i].ops->set_age(all->sets.v[i].set);
}
