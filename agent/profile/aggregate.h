/* Counts samples by process and stack before symbolization. Exact-IP stacks are 28-95 % unique, so this is a store of
 * stacks as much as a counter: words live in one arena, each distinct stack once.
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
    char comm[17]; /* NUL-terminated, as the kernel has it: bytes, not yet UTF-8 */
};
struct agg_stack {
    u32 process;        /* row in aggregate_processes */
    u16 nkernel, nuser; /* words */
    u8 cause;           /* enum xp_cause: the same words with another ending are another stack */
    const u64 *words;   /* kernel words, then user words, leaf first; stay where they are until aggregate_free */
    u64 count[XP_MAX_EVENTS];
    u64 value[XP_MAX_EVENTS]; /* sums of weights */
};

/* `max_bytes` bounds stacks and indexes together; beyond it new stacks are dropped and counted. 0 or -ENOMEM. */
int aggregate_new(struct aggregate **out, size_t max_bytes);
void aggregate_free(struct aggregate **a);

/* Adds one sample (checked: nkernel, nuser, event, cause in range, word kinds known; that the words are there at all
 * is the caller's to know from the record's size). 0; -EBADMSG, -ENOSPC (both dropped and counted). */
int aggregate_add(struct aggregate *a, const struct xp_sample *s);
/* Moves all of `from` into `into`; `from` is then empty, in any case. 0 or -ENOSPC (what did not fit is counted). */
int aggregate_merge(struct aggregate *into, struct aggregate *from);

/* Lets `judge` give each stack another cause, once all are there: nothing may be added or merged afterwards. */
void aggregate_reclassify(struct aggregate *a, u8 (*judge)(void *ctx, const struct agg_stack *s), void *ctx);

const struct agg_process *aggregate_processes(const struct aggregate *a, size_t *n);
/* In the order of first sight; valid until the next add or merge. */
const struct agg_stack *aggregate_stacks(const struct aggregate *a, size_t *n);
u64 aggregate_dropped(const struct aggregate *a);  /* samples */
size_t aggregate_bytes(const struct aggregate *a); /* held now, never more than max_bytes */
