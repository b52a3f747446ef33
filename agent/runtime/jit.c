/* JIT compilers that write a map of the code that they make (jit_map.h): node, the JVM, CPython and others. Recognised
 * by frames in code of no file, which the kernel side walks by frame pointer.
 */
#include "runtime/runtime.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"
#include "proc/proc.h"
#include "runtime/jit_file.h"
#include <errno.h>
#include <string.h>

/* The processes that were seen to run code of no file. Bounded; one that ended is forgotten when an interval went by
 * without it. */
#define MAX_PROCESSES 1024 /* a descriptor each, two with a jitdump */

struct jit_process {
    u32 tgid;
    u64 start; /* ns since boot */
    struct jit_place place;
};
struct entry {
    struct jit_process *process;
    bool used;
};
struct jit_maps {
    struct runtime_reader reader;
    VEC(struct entry) list;
};

static void *process_new(struct opener *o, u32 tgid, u64 start)
{
    struct jit_process *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->tgid = tgid;
    p->start = start;
    if (jit_place_open(o, tgid, start, &p->place)) {
        free(p);
        return NULL;
    }
    return p;
}

static void process_free(void *process)
{
    struct jit_process *p = process;
    jit_place_close(&p->place);
    free(p);
}

static int maps_new(void **out, struct runtime_reader reader)
{
    struct jit_maps *j = calloc(1, sizeof(*j));
    if (!j)
        return -ENOMEM;
    j->reader = reader;
    *out = j;
    return 0;
}

static void maps_free(void *maps)
{
    struct jit_maps *j = maps;
    for (size_t i = 0; i < j->list.n; i++)
        process_free(j->list.v[i].process);
    vec_free(&j->list);
    free(j);
}

static struct entry *find(struct jit_maps *j, u32 tgid, u64 start)
{
    for (size_t i = 0; i < j->list.n; i++)
        if (j->list.v[i].process->tgid == tgid && j->list.v[i].process->start == start)
            return &j->list.v[i];
    return NULL;
}

static void drop(struct jit_maps *j, size_t i)
{
    process_free(j->list.v[i].process);
    memmove(&j->list.v[i], &j->list.v[i + 1], (--j->list.n - i) * sizeof(j->list.v[0]));
}

static void maps_add(void *maps, void *process)
{
    struct jit_maps *j = maps;
    struct jit_process *p = process;
    if (find(j, p->tgid, p->start)) {
        process_free(p);
        return;
    }
    if (j->list.n == MAX_PROCESSES)
        drop(j, 0); /* the one known longest */
    jit_place_look(&p->place, j->reader.opener, p->tgid);
    struct entry *e = VEC_PUSH(&j->list);
    if (e)
        *e = (struct entry){.process = p, .used = true};
    else
        process_free(p);
}

static int maps_names(void *maps, u32 tgid, u64 start, const u64 *addresses, size_t n,
                      void (*use)(void *arg, const struct names *names), void *arg)
{
    struct jit_maps *j = maps;
    struct entry *e = find(j, tgid, start);
    if (!e)
        return -ENOENT;
    e->used = true;
    AUTO_CLOSE int fd = jit_place_map(&e->process->place, j->reader.opener, tgid);
    int rc = fd < 0 ? fd : j->reader.read(j->reader.ctx, fd, addresses, n, use, arg);
    if (rc && rc != -ENOENT)
        log_info("no names for JIT code of process %u: cannot read its map: %s", tgid, strerror(-rc));
    return rc;
}

static void maps_age(void *maps)
{
    struct jit_maps *j = maps;
    for (size_t i = j->list.n; i--;) {
        struct entry *e = &j->list.v[i];
        if (!e->used && !proc_alive(e->process->tgid))
            drop(j, i);
        else
            e->used = false;
    }
}

/* Does the sample run through code of no file? */
static bool is_jit_sample(const struct xp_sample *s)
{
    for (unsigned i = s->nkernel; i < (unsigned)s->nkernel + s->nuser; i++)
        if (XP_WORD_KIND(s->words[i]) == XP_WORD_ANON)
            return true;
    return false;
}

static const struct runtime_process_ops ops = {.recognise = is_jit_sample,
                                               .open = process_new,
                                               .close = process_free,
                                               .set_new = maps_new,
                                               .set_free = maps_free,
                                               .set_add = maps_add,
                                               .set_names = maps_names,
                                               .set_age = maps_age};

const struct runtime runtime_jit = {.name = "jit", .process = &ops};
