#include "pipeline/code_reads.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "opener/hung.h"
#include "opener/opener.h"
#include "proc/proc.h"
#include "runtime/runtime.h"
#include <errno.h>

#define MAX_PROCESSES 1024
#define MAX_OWNERS    4096
#define REFUSALS      5 /* within some seconds: one that starts, or changes while it is read, may look unknown */

struct process {
    u32 tgid;
    u64 start;
    u64 due_ns, pause_ns;
    u64 hash;     /* of the last reply; 0: none */
    u32 refusals; /* how often its runtime was not understood */
};
struct code_reads {
    VEC(struct process) list;
    struct map owners; /* cgroup -> when it may be read again */
    u64 unknown;       /* processes; read by other threads */
};

int code_reads_new(struct code_reads **out)
{
    struct code_reads *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    *out = r;
    return 0;
}

void code_reads_free(struct code_reads **r)
{
    if (!*r)
        return;
    vec_free(&(*r)->list);
    map_free(&(*r)->owners);
    free(*r);
    *r = NULL;
}

/* ---- When ------------------------------------------------------------------------------------------------------- */

static struct process *find(struct code_reads *r, const struct code_job *job)
{
    for (size_t i = 0; i < r->list.n; i++)
        if (r->list.v[i].tgid == job->tgid && r->list.v[i].start == job->start)
            return &r->list.v[i];
    return NULL;
}

/* If there are too many, that one is forgotten which was due first: its samples have come to an end. */
static struct process *add(struct code_reads *r, const struct code_job *job)
{
    struct process *p = NULL;
    for (size_t i = 0; r->list.n == MAX_PROCESSES && i < r->list.n; i++)
        p = p && p->due_ns <= r->list.v[i].due_ns ? p : &r->list.v[i];
    if (!p)
        p = VEC_PUSH(&r->list);
    if (p)
        *p = (struct process){.tgid = job->tgid, .start = job->start, .pause_ns = CODE_READS_FIRST_NS};
    return p;
}

bool code_reads_begin(struct code_reads *r, const struct code_job *job, u64 now)
{
    struct process *p = find(r, job);
    const u64 *owner = map_get(&r->owners, job->cgroup);
    if (!p)
        p = add(r, job);
    return p && now >= p->due_ns && (!owner || now >= *owner);
}

static void note_unknown(struct code_reads *r, const struct code_job *job)
{
    __atomic_add_fetch(&r->unknown, 1, __ATOMIC_RELAXED);
    log_warn("process %u: the structures of its runtime are not known; its frames have no names", job->tgid);
}

u64 code_reads_unknown(const struct code_reads *r)
{
    return __atomic_load_n(&r->unknown, __ATOMIC_RELAXED);
}

bool code_reads_end(struct code_reads *r, const struct code_job *job, int error, u64 hash, u64 took, u64 now)
{
    struct process *p = find(r, job);
    if (r->owners.n >= MAX_OWNERS)
        map_free(&r->owners);
    u64 *owner = map_put(&r->owners, job->cgroup);
    if (owner)
        *owner = now + (job->attached.len || error == -EAGAIN ? CODE_READS_RUNTIME_PART : CODE_READS_PART) * took;
    if (!p)
        return false;
    bool fresh = !error && hash != p->hash, hung = error && error != -ENODATA && error != -EAGAIN && error != -ENOTSUP;
    p->pause_ns = error == -EAGAIN ? CODE_READS_AGAIN_NS
                  : fresh          ? CODE_READS_FIRST_NS
                  : hung           ? CODE_READS_LONGEST_NS
                                   : 2 * p->pause_ns;
    p->pause_ns = p->pause_ns < CODE_READS_LONGEST_NS ? p->pause_ns : CODE_READS_LONGEST_NS;
    p->due_ns = now + p->pause_ns;
    p->hash = error ? p->hash : hash;
    if (error == -ENOTSUP && ++p->refusals == REFUSALS)
        note_unknown(r, job);
    return fresh;
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static int open_file(struct opener *o, u32 tgid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/%s", tgid, name);
    return opener_file(o, -1, path);
}

/* Whether the runtime has all generated code of its process. */
static bool has_all_code(const struct code_job *job)
{
    struct xp_machine machine;
    return runtime_machine(job->attached.data, job->attached.len, &machine) && machine.kind != XP_MACHINE_PYTHON;
}

/* `attached`: what came of looking for a runtime; if there is one, it is well without generated code. */
static int read_generated(struct code_job *job, int mem, int maps, int program, struct parser *p, int attached)
{
    int rc = parser_generated(p, mem, maps, program < 0 ? -1 : program, &job->reply);
    return rc == -ENODATA ? attached : rc;
}

static int read_process(struct code_job *job, struct opener *o, struct parser *p)
{
    job->stack = proc_start_stack(job->tgid);
    AUTO_CLOSE int mem = open_file(o, job->tgid, "mem");
    AUTO_CLOSE int maps = mem < 0 ? -1 : open_file(o, job->tgid, "maps");
    AUTO_CLOSE int program = maps < 0 ? -1 : open_file(o, job->tgid, "exe");
    if (mem < 0 || maps < 0)
        return mem < 0 ? mem : maps;
    if (!proc_is(job->tgid, job->start))
        return -ESRCH;
    int rc = parser_attach(p, mem, maps, &job->attached);
    if (rc == -ENODATA || (!rc && job->anonymous && !has_all_code(job)))
        rc = read_generated(job, mem, maps, program, p, rc);
    if (!rc && proc_start_stack(job->tgid) != job->stack) { /* another program by now */
        parser_reply_free(&job->reply);
        parser_reply_free(&job->attached);
        return -ENODATA;
    }
    return rc;
}

bool code_reads_one(struct code_reads *r, struct code_job *job, struct opener *o, struct parser *p, struct hung *h)
{
    u64 began = now_ns();
    struct hung_place place = hung_place_of_process(job->tgid, job->start, job->cgroup);
    if (hung_is(h, &place, began) || !code_reads_begin(r, job, began))
        return false;
    int rc = read_process(job, o, p);
    if (rc == -EREMOTEIO || rc == -ETIMEDOUT)
        hung_note(h, &place, now_ns());
    const struct parser_reply *reply = job->attached.len ? &job->attached : &job->reply;
    u64 hash = rc ? 0 : hash_bytes(reply->data, reply->len, job->stack), now = now_ns();
    if (rc && rc != -ENODATA)
        log_info("cannot read the generated code of process %u: %s", job->tgid, strerror(-rc));
    else
        log_info(job->attached.len ? "runtime of process %u: %zu bytes in %.1f ms"
                                   : "generated code of process %u: %zu bytes in %.1f ms",
                 job->tgid, reply->len, (double)(now - began) / 1e6);
    code_reads_end(r, job, rc, hash, now - began, now);
    return !rc; /* also what is known: it may have found no room */
}
