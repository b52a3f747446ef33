/* Counts samples by process and stack before symbolization. With exact addresses, 28-95 % of the stacks are unique, so
 * memory matters: all words are in one arena, and each distinct stack is stored once.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stddef.h>

struct aggregate;

struct agg_process {
    u64 start;  /* ns since boot; (tgid, start, comm, cgroup) is the identity: */
    u64 cgroup; /* an exec, or a move to another container, is another row */
    u32 tgid;
    char comm[17]; /* NUL-terminated bytes from the kernel, possibly not UTF-8 */
};
struct agg_thread {
    char name[17]; /* NUL-terminated, and zero behind that: bytes from the kernel; "": not known */
    char pad[7];
    u32 tid, nstid; /* its numbers, where they tell stacks apart (xp_sample.nstid); else 0 */
    u64 time;       /* of its sample, where each is kept for itself (aggregate_keep_times), with the number; else 0 */
};
struct agg_stack {
    u32 process;              /* row in aggregate_processes */
    u32 thread;               /* for aggregate_thread */
    u16 nkernel, nuser;       /* words */
    u8 cause, event;          /* enum xp_cause; the kind of event: parts of the identity of a stack */
    u8 nvalues, ncounted;     /* of that kind, and the first ones that count it */
    const u64 *words;         /* kernel words, then user words, leaf first; valid until aggregate_free */
    struct xp_amount *values; /* valid as long */
};

/* The occurrences that a stack stands for. Values beyond `ncounted` are levels: what is left of these. */
static inline u64 agg_count(const struct agg_stack *s)
{
    u64 n = 0;
    for (size_t v = 0; v < s->ncounted; v++)
        n += s->values[v].count;
    return n;
}

/* For samples of `nevents` events, at most XP_MAX_EVENTS, with one value each. `max_bytes` limits stacks and indexes
 * together; above it, new stacks are dropped and counted. Returns 0 or -ENOMEM. */
int aggregate_new(struct aggregate **out, size_t nevents, size_t max_bytes);
/* Gives each cgroup only a share of the memory (base/shares.h), so that one with endlessly many stacks or processes
 * leaves room for others. To be called while it is empty. */
void aggregate_share(struct aggregate *a);
/* Gives an event more values than one, at most XP_MAX_VALUES, the first `ncounted` of which count what happened. To be
 * called while it is empty. */
void aggregate_widen(struct aggregate *a, size_t event, size_t nvalues, size_t ncounted);
/* Keeps each sample of some events for itself, with its time. To be called while it is empty. */
void aggregate_keep_times(struct aggregate *a, u32 events); /* bits */
void aggregate_free(struct aggregate **a);

/* Adds one sample. Checks the ranges of nkernel, nuser, event and cause, and the kinds of words; the caller has checked
 * that the record contains all words. Returns 0; -EBADMSG or -ENOSPC: the sample is dropped and counted. */
int aggregate_add(struct aggregate *a, const struct xp_sample *s);
/* The same with all values of the sample's event in place of its `count` and `weight`. */
int aggregate_add_values(struct aggregate *a, const struct xp_sample *s, const struct xp_amount *values, size_t n);
/* Moves all stacks of `from` into `into`, which has the same events; `from` is always empty afterwards. Returns 0;
 * -ENOSPC: stacks that did not fit are counted. */
int aggregate_merge(struct aggregate *into, struct aggregate *from);

/* Lets `judge` change the cause of each stack. Nothing may be added or merged afterwards. */
void aggregate_reclassify(struct aggregate *a, u8 (*judge)(void *ctx, const struct agg_stack *s), void *ctx);

/* What is known of a thread. */
const struct agg_thread *aggregate_thread(const struct aggregate *a, u32 thread);
const struct agg_process *aggregate_processes(const struct aggregate *a, size_t *n);
/* Returns the stacks in the order in which they were first added; valid until the next add or merge. */
const struct agg_stack *aggregate_stacks(const struct aggregate *a, size_t *n);
size_t aggregate_events(const struct aggregate *a);
u64 aggregate_dropped(const struct aggregate *a);  /* samples */
size_t aggregate_bytes(const struct aggregate *a); /* current size, never more than max_bytes */
