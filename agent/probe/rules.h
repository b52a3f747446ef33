/* The dictionary of unwind rules, one per machine. A table row refers to its rule by a 16-bit number, so a crafted file
 * could use up all numbers. Therefore a file may have at most PROBE_FILE_RULES rules, the files of one owner may hold
 * only the owner's share of the numbers (base/shares.h), and a file whose rules do not fit adds none. A rule is
 * released with the last table that uses it. Its number is not reused at once, because eBPF programs may still be
 * reading it.
 */
#pragma once
#include "base/map.h"
#include "base/shares.h"
#include "bpf/types.h"
#include "bpf/xprof.h"

/* Delay before released numbers and words are reused, in ns: programs run for microseconds, but user space may be
 * preempted.
 */
#define PROBE_GRACE_NS 1000000000
/* The largest of 1,649 files, Clang's library with 1.2 million rows, has 1,254. */
#define PROBE_FILE_RULES 8192

struct rule_use {
    u64 owner;    /* owner of the file that added it */
    u64 since_ns; /* when it was released */
    u32 tables;   /* tables that use it; 0: released */
    u32 next;     /* number released after this one; 0: none */
};
struct rules {
    struct xp_rule *array; /* XP_MAX_RULES entries, borrowed; read by the kernel side */
    struct rule_use *uses; /* by number */
    u32 n;                 /* all numbers below were used at some time; 0 is always XP_CFA_NONE */
    u32 oldest, youngest;  /* of the released numbers; 0: there are none */
    struct map ids;        /* rule as u64 -> number */
    struct shares shares;
};

/* Returns 0 or -ENOMEM. Call rules_fini in both cases. */
int rules_init(struct rules *r, struct xp_rule *array);
void rules_fini(struct rules *r);
/* Adds the rules of a table for an owner (or SHARES_ALL), all or none; numbers[i] is set to the number of rules[i].
 * Returns 0; -EOVERFLOW: more rules than a file may have; -ENOSPC: the dictionary is full; -EUSERS: the owner's share
 * is used up; -ENOMEM. */
int rules_take(struct rules *r, u64 owner, const struct xp_rule *rules, u32 n, u16 *numbers);
/* Releases the rules of a removed table, by the numbers from rules_take. */
void rules_give(struct rules *r, const u16 *numbers, u32 n);
