#include "pipeline/holders.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "proc/proc.h"
#include <string.h>
#include <unistd.h>

struct holder {
    char name[PROC_COMM];
};

static void names_free(struct holder_names *n)
{
    map_free(&n->places);
    vec_free(&n->names);
    *n = (struct holder_names){0};
}

void holders_tick(struct holders *h)
{
    names_free(&h->before);
    map_free(&h->listed);
    shares_free(&h->looks);
    *h = (struct holders){.before = h->now, .refused = h->refused};
}

void holders_free(struct holders *h)
{
    holders_tick(h);
    holders_tick(h);
}

/* Each look is a file in /proc. */
static bool may_look(struct holders *h, u64 cgroup, size_t n)
{
    h->looks.limit = HOLDERS_THREADS;
    bool may = shares_take(&h->looks, cgroup, n);
    h->refused += !may;
    return may;
}

static u64 thread_id(u64 process, u32 tid)
{
    return hash_u64(process ^ tid);
}

static const char *find(const struct holder_names *n, u64 id)
{
    const u64 *place = map_get(&n->places, id);
    return place && *place ? n->names.v[*place - 1].name : NULL;
}

/* Notes the name of a thread; NULL: that there is none. */
static void keep(struct holder_names *n, u64 id, const char *name)
{
    u64 *place = map_put(&n->places, id);
    struct holder *fresh = place && name ? VEC_PUSH(&n->names) : NULL;
    if (!fresh)
        return;
    memcpy(fresh->name, name, sizeof(fresh->name));
    *place = n->names.n;
}

/* Looks at all threads of a process, once: in a container, their numbers are others than those that it sees. */
static void list(struct holders *h, u64 cgroup, u32 tgid, u64 process)
{
    CLEANUP(proc_pids_free) proc_pids threads = {0};
    char name[PROC_COMM];
    u64 *listed = map_put(&h->listed, process);
    if (!listed || *listed || proc_threads(tgid, HOLDERS_THREADS, &threads))
        return;
    *listed = 1;
    if (!may_look(h, cgroup, threads.n))
        return;
    for (size_t i = 0; i < threads.n; i++) {
        u32 own = 0;
        if (!proc_thread(tgid, threads.v[i], &own, name))
            keep(&h->now, thread_id(process, own), name);
    }
}

/* In most cases it has the number by which its process knows it. */
static void look(struct holders *h, u64 cgroup, u32 tgid, u64 process, u32 tid)
{
    char name[PROC_COMM];
    u32 own = 0;
    if (!may_look(h, cgroup, 1))
        return;
    if (!proc_thread(tgid, tid, &own, name) && own == tid)
        keep(&h->now, thread_id(process, tid), name);
    else
        list(h, cgroup, tgid, process);
}

const char *holders_name(struct holders *h, u64 cgroup, u32 tgid, u64 start, u32 tid)
{
    u64 process = hash_process(tgid, start), id = thread_id(process, tid);
    if (map_get(&h->now.places, id))
        return find(&h->now, id);
    if (proc_is(tgid, start))
        look(h, cgroup, tgid, process, tid);
    if (!map_get(&h->now.places, id))
        keep(&h->now, id, find(&h->before, id));
    return find(&h->now, id);
}
