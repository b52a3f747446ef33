#include "inspect/stacks.h"
#include "inspect/address_space.h"
#include "base/cleanup.h"
#include "probe/tasks.h"
#include "profile/aggregate.h"
#include "events/events.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS          5 /* looks at a thread that always runs in between */
#define CATCH_MS        20
#define WHOLE_COPY      ((size_t)60 << 10) /* of a stack: perf copies 64 KiB less what else is in the sample */
#define PF_KTHREAD      0x00200000         /* include/linux/sched.h */
#define TASK_DEAD       0x80               /* the same; zombies, too */
#define AGGREGATE_BYTES ((size_t)256 << 20)

struct stacks {
    u32 tgid;
    struct tasks *tasks;
    struct binaries *binaries;
    struct xp_state *state;
};

int stacks_new(struct stacks **out, u32 tgid, const struct binaries_config *config, char *why, size_t len)
{
    struct stacks *s = calloc(1, sizeof(*s));
    snprintf(why, len, "out of memory");
    if (!s)
        return -ENOMEM;
    s->tgid = tgid;
    s->state = calloc(1, sizeof(*s->state));
    int rc = s->state ? binaries_new(&s->binaries, config) : -ENOMEM;
    if (!rc)
        binaries_want_kernel(s->binaries);
    if (!rc)
        rc = tasks_new(&s->tasks, tgid, why, len);
    if (!rc)
        binaries_add_vdso(s->binaries);
    if (rc)
        stacks_free(&s);
    else
        *out = s;
    return rc;
}

void stacks_free(struct stacks **s)
{
    if (!*s)
        return;
    tasks_free(&(*s)->tasks);
    binaries_free(&(*s)->binaries);
    free((*s)->state);
    free(TAKE_PTR(*s));
}

/* ---- One thread -------------------------------------------------------------------------------------------------- */

/* As ps(1) has it, from the bits of __state (include/linux/sched.h). */
static char state_letter(const struct xp_task *t)
{
    if (t->on_cpu || !t->state)
        return 'R';
    if ((t->state & 0x402) == 0x402)
        return 'I';
    if (t->state & TASK_DEAD)
        return 'Z';
    static const char letters[] = "SDTtXZP";
    for (unsigned i = 0; i < sizeof(letters) - 1; i++)
        if (t->state >> i & 1)
            return letters[i];
    return '?';
}

struct look { /* at a thread */
    struct xp_task task;
    struct stacks_thread thread;
    struct xp_sample *sample; /* owned; NULL: not yet */
};
typedef VEC(struct look) look_list;

static void looks_free(look_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].sample);
    vec_free(l);
}

/* The thread's sample out of kernel frames and what the unwinder found. */
static int compose(struct stacks *s, struct look *l, const u64 *kernel, u32 nkernel, u32 nuser, u32 cause)
{
    struct xp_sample *new = calloc(1, sizeof(*new) + 8ull * (nkernel + nuser));
    if (!new)
        return -ENOMEM;
    *new = (struct xp_sample){.count = 1,
                              .weight = 1,
                              .start = l->task.start,
                              .tgid = l->task.tid, /* threads stay apart */
                              .tid = l->task.tid,
                              .nkernel = (u16)nkernel,
                              .nuser = (u16)nuser,
                              .cause = (u8)cause};
    memcpy(new->comm, l->task.comm, sizeof(new->comm));
    for (u32 i = 0; i < nkernel; i++)
        new->words[i] = kernel[i];
    memcpy(new->words + nkernel, s->state->words, 8ull * nuser);
    free(l->sample);
    l->sample = new;
    return 0;
}

static int read_caught(void *ctx, void *to, u32 len, u64 from)
{
    const struct caught *c = ctx;
    u64 at = from - c->regs.r[7]; /* rsp */
    if (at > c->nstack || len > c->nstack - at)
        return 1;
    memcpy(to, c->stack + at, len);
    return 0;
}

/* It runs at this moment. -ETIMEDOUT: no more. */
static int look_at_running(struct stacks *s, struct address_space *space, struct look *l)
{
    CLEANUP(caught_free) struct caught c = {0};
    int rc = task_catch(l->task.tid, CATCH_MS, &c);
    if (rc)
        return rc;
    u32 cause = l->task.flags & PF_KTHREAD ? XP_CAUSE_KTHREAD : XP_CAUSE_COMPAT, n = 0;
    if (c.user) {
        address_space_unwind(space, &c.regs, l->task.fs_base, read_caught, &c, s->state);
        cause = s->state->cause;
        n = s->state->sample.nuser;
        if (cause == XP_CAUSE_STACK_READ && c.nstack >= WHOLE_COPY)
            cause = XP_CAUSE_DUMP_END;
    }
    l->thread.running = true;
    return compose(s, l, c.kernel, c.nkernel, n, cause);
}

static int look_at_waiting(struct stacks *s, struct address_space *space, struct look *l)
{
    struct xp_regs regs;
    u32 cause = l->task.flags & PF_KTHREAD ? XP_CAUSE_KTHREAD : XP_CAUSE_NO_MM, n = 0;
    l->thread.running = false;
    if (cause != XP_CAUSE_KTHREAD && !(l->task.state & TASK_DEAD)) {
        cause = XP_CAUSE_COMPAT;
        if (tasks_regs(&l->task, &regs)) {
            address_space_unwind(space, &regs, l->task.fs_base, address_space_read, space, s->state);
            cause = s->state->cause;
            n = s->state->sample.nuser;
        }
    }
    return compose(s, l, l->task.kernel, l->task.nkernel, n, cause);
}

static int look_at(struct stacks *s, struct address_space *space, struct look *l)
{
    int rc = l->task.on_cpu ? look_at_running(s, space, l) : 0;
    if (rc && rc != -ETIMEDOUT && rc != -ESRCH)
        return rc;
    return l->task.on_cpu ? 0 : look_at_waiting(s, space, l);
}

/* ---- All threads ------------------------------------------------------------------------------------------------- */

static struct look *find(look_list *looks, u32 tid)
{
    for (size_t i = 0; i < looks->n; i++)
        if (looks->v[i].task.tid == tid)
            return &looks->v[i];
    return NULL;
}

/* A stack is right if its thread was caught, or has not run since its registers were read. */
static bool is_settled(const struct look *l, const struct xp_task *now)
{
    return l->sample && (l->thread.running || (!now->on_cpu && now->switches == l->task.switches));
}

/* One look at every thread whose stack is not right yet. How many there were. */
static int look_around(struct stacks *s, struct address_space *space, u32 tid, look_list *looks)
{
    task_list tasks = {0};
    int rc = tasks_list(s->tasks, &tasks), open = 0;
    for (size_t i = 0; i < tasks.n && !rc; i++) {
        const struct xp_task *t = &tasks.v[i];
        if (tid && t->tid != tid)
            continue;
        struct look *l = find(looks, t->tid);
        if (!l && (l = VEC_PUSH(looks)))
            *l = (struct look){0};
        if (!l) {
            rc = -ENOMEM;
            break;
        }
        if (is_settled(l, t)) {
            l->thread.moved = false;
            continue;
        }
        l->task = *t;
        l->thread = (struct stacks_thread){.tid = t->tid, .state = state_letter(t), .moved = true};
        rc = look_at(s, space, l);
        l->thread.moved = !l->thread.running;
        open++;
    }
    vec_free(&tasks);
    return rc ? rc : open;
}

static int count(struct stacks *s, look_list *looks, struct aggregate *into, struct stacks_list *threads)
{
    for (size_t i = 0; i < looks->n; i++) {
        struct look *l = &looks->v[i];
        if (!l->sample && compose(s, l, NULL, 0, 0, XP_CAUSE_STACK_READ)) /* it ran whenever it was looked at */
            return -ENOMEM;
        struct stacks_thread *t = VEC_PUSH(threads);
        if (!t || aggregate_add(into, l->sample))
            return -ENOMEM;
        *t = l->thread;
    }
    return threads->n ? 0 : -ESRCH;
}

int stacks_take(struct stacks *s, u32 tid, struct profile *out, struct stacks_list *threads)
{
    CLEANUP(looks_free) look_list looks = {0};
    CLEANUP(aggregate_free) struct aggregate *stacks = NULL;
    CLEANUP(address_space_free) struct address_space *space = NULL;
    int rc = aggregate_new(&stacks, 1, AGGREGATE_BYTES);
    if (!rc)
        rc = address_space_new(&space, s->binaries, s->tgid);
    for (int round = 0; !rc && round <= ROUNDS; round++) {
        int open = look_around(s, space, tid, &looks);
        rc = open < 0 ? open : 0;
        if (!open)
            break;
    }
    if (!rc)
        rc = count(s, &looks, stacks, threads);
    if (rc)
        return rc;
    binaries_set_process(s->binaries, s->tgid, looks.v[0].task.start);
    struct name_source source = binaries_source(s->binaries);
    out->events[0] = event_kind_find("cpu");
    out->nevents = 1;
    out->period[0] = 1;
    return symbolize(stacks, &source, out);
}
