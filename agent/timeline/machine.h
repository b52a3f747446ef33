/* What each thread and each CPU does, as the scheduler's events say it one after the other.
 *
 * Threads are rows of the store (store.h); row 0 is the idle thread of every CPU. Events come in the order of their
 * times; where some are missing, what contradicts itself is left out rather than guessed.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/timeline.h"
#include <stdbool.h>

enum tl_doing { TL_UNKNOWN, TL_RUNNING, TL_RUNNABLE, TL_BLOCKED, TL_GONE };

struct tl_event { /* struct xp_tl_event with rows in place of thread IDs */
    u8 type, flags;
    u16 running;
    u32 cpu;
    u64 time;
    u32 thread, other; /* XP_TL_WAKEUP: `other` is a CPU */
    u32 stack;         /* number of a kernel stack (store.h); 0: not known */
    u32 ran;           /* of switches that come unexpectedly, as in struct xp_tl_event */
};

struct tl_slice { /* a thread did one thing for a while */
    u64 begin, end;
    u32 thread;
    u32 stack; /* TL_BLOCKED: where it waited; 0: not known */
    s32 cpu;   /* TL_RUNNING: where; -1: not known */
    s32 from;  /* TL_RUNNING: the CPU that it came from, if it is another one; -1 */
    u8 doing;  /* enum tl_doing */
    u8 flags;  /* TL_BLOCKED: XP_TL_IO, XP_TL_DEEP */
};
struct tl_wake {
    u64 from;       /* when it was woken up, */
    u64 time;       /* and when it was on a run queue */
    u32 thread;     /* who is runnable from then on */
    u32 waker;      /* who was running where that was done */
    bool interrupt; /* an interrupt did it, which had nothing to do with the waker */
};
struct tl_visitor { /* each may be NULL */
    void *ctx;
    void (*slice)(void *ctx, const struct tl_slice *s);
    void (*wake)(void *ctx, const struct tl_wake *w);
    void (*run)(void *ctx, u32 cpu, u32 thread, u64 begin, u64 end); /* a CPU has this thread, never the idle one */
    void (*queue)(void *ctx, u32 cpu, u64 time, u32 running);        /* threads on its run queue from then on */
};

struct tl_now {
    u64 since;
    u32 stack;
    s32 cpu, from;              /* where it was last, and before; -1: not known */
    u64 woken;                  /* of a wake-up that goes on: when it began; 0: there is none */
    u32 waker;                  /* of the same */
    u8 doing, flags, interrupt; /* interrupt: as in struct tl_wake, of `waker` */
    u8 assumed;                 /* nothing has confirmed it yet */
};
struct tl_cpu {
    u64 since;
    u32 thread;
    u8 known;
};
struct tl_machine {
    u64 begin; /* of what is told: earlier times are cut off */
    VEC(struct tl_now) threads;
    struct tl_cpu *cpus;
    u32 ncpus;
};

int machine_init(struct tl_machine *m, u32 ncpus); /* 0 or -ENOMEM */
void machine_free(struct tl_machine *m);
int machine_copy(struct tl_machine *to, const struct tl_machine *from); /* `to` is not initialised; 0 or -ENOMEM */
/* Adds the next thread. `since`: nothing is known of it before. Returns 0 or -ENOMEM. */
int machine_add(struct tl_machine *m, u64 since);
/* Believes this of a thread until an event says otherwise. */
void machine_assume(struct tl_machine *m, u32 thread, const struct tl_now *now);
/* `v` may be NULL. Rows and CPUs are those of this machine. */
void machine_apply(struct tl_machine *m, const struct tl_event *e, const struct tl_visitor *v);
/* Tells what goes on until the end. */
void machine_end(struct tl_machine *m, u64 end, const struct tl_visitor *v);
