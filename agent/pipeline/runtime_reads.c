#include "pipeline/runtime_reads.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/log.h"
#include "opener/hung.h"
#include "opener/opener.h"
#include "proc/proc.h"
#include <errno.h>

#define MAX_PROCESSES XP_MAX_MACHINES

struct process {
    u32 tgid;
    u64 start, stack;
    int attached; /* a sealed memfd */
    u64 used_ns;
};
struct runtime_reads {
    VEC(struct process) list;
};

int runtime_reads_new(struct runtime_reads **out)
{
    struct runtime_reads *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    *out = r;
    return 0;
}

void runtime_reads_free(struct runtime_reads **r)
{
    if (!*r)
        return;
    for (size_t i = 0; i < (*r)->list.n; i++)
        xp_cleanup_close(&(*r)->list.v[i].attached);
    vec_free(&(*r)->list);
    free(*r);
    *r = NULL;
}

static struct process *find(struct runtime_reads *r, u32 tgid, u64 start)
{
    for (size_t i = 0; i < r->list.n; i++)
        if (r->list.v[i].tgid == tgid && r->list.v[i].start == start)
            return &r->list.v[i];
    return NULL;
}

/* A process that was just forked looks like its parent: what is known of that one holds until it is read itself. */
static struct process *find_parent(struct runtime_reads *r, u32 tgid)
{
    u32 parent = proc_parent(tgid);
    u64 stack = proc_start_stack(tgid);
    for (size_t i = 0; parent && i < r->list.n; i++)
        if (r->list.v[i].tgid == parent && r->list.v[i].stack == stack)
            return &r->list.v[i];
    return NULL;
}

/* If there are too many, the one gives way that was used longest ago. */
static struct process *add(struct runtime_reads *r)
{
    struct process *p = NULL;
    for (size_t i = 0; r->list.n == MAX_PROCESSES && i < r->list.n; i++)
        p = p && p->used_ns <= r->list.v[i].used_ns ? p : &r->list.v[i];
    if (p)
        xp_cleanup_close(&p->attached);
    else if ((p = VEC_PUSH(&r->list)))
        p->attached = -1;
    return p;
}

void runtime_reads_keep(struct runtime_reads *r, const struct code_job *job)
{
    int fd = fs_sealed_memfd("xprof-runtime", job->attached.data, job->attached.len);
    struct process *p = fd < 0 ? NULL : find(r, job->tgid, job->start);
    if (p)
        xp_cleanup_close(&p->attached);
    else if (fd >= 0)
        p = add(r);
    if (p)
        *p = (struct process){job->tgid, job->start, job->stack, fd, now_ns()};
    else
        xp_cleanup_close(&fd);
}

static int read_names(const struct process *p, struct names_job *job, struct opener *o, struct parser *parser)
{
    char path[64];
    struct names view;
    snprintf(path, sizeof(path), "/proc/%u/mem", job->tgid);
    AUTO_CLOSE int mem = opener_file(o, -1, path);
    if (mem < 0)
        return mem;
    if (!proc_is(job->tgid, job->start) || proc_start_stack(job->tgid) != p->stack)
        return -ESRCH;
    return parser_runtime_names(parser, mem, p->attached, job->words, 2 * job->n, &job->reply, &view);
}

bool runtime_reads_names(struct runtime_reads *r, struct names_job *job, struct opener *o, struct parser *parser,
                         struct hung *h)
{
    struct process *p = find(r, job->tgid, job->start);
    u64 began = now_ns();
    struct hung_place place = hung_place_of_process(job->tgid, job->start, job->cgroup);
    p = p ? p : find_parent(r, job->tgid);
    if (!p || hung_is(h, &place, began))
        return false;
    p->used_ns = began;
    int rc = read_names(p, job, o, parser);
    if (rc == -EREMOTEIO || rc == -ETIMEDOUT)
        hung_note(h, &place, now_ns());
    if (rc)
        log_info("no names for %zu frames of process %u: %s", job->n, job->tgid, strerror(-rc));
    else
        log_info("names of %zu frames of process %u in %.1f ms", job->n, job->tgid, (double)(now_ns() - began) / 1e6);
    return !rc;
}
