/* The dictionary of rules. A row holds its rule's number in 16 bits, so the machine has one dictionary, and a crafted
 * file could bring as many rules as there are numbers. Therefore a file may have PROBE_FILE_RULES at most, the files
 * that an owner brought may hold their share of the numbers only (base/shares.h), and a file whose rules do not fit
 * leaves nothing behind. A rule comes free with the last table that uses it; its number rests before it is used again,
 * because programs may still be reading it.
 */
#pragma once
#include "base/map.h"
#include "base/shares.h"
#include "bpf/types.h"
#include "bpf/xprof.h"

/* How long given back numbers and words rest, in ns: programs run for microseconds, user space may have been preempted.
 */
#define PROBE_GRACE_NS 1000000000
/* Clang's library with 1.2 million rows, the largest of 1,649 files, has 1,254. */
#define PROBE_FILE_RULES 8192

struct rule_use {
    u64 owner;    /* who brought it */
    u64 since_ns; /* when it came free */
    u32 tables;   /* that use it; 0: its number rests */
    u32 next;     /* number that came free after this one; 0: none */
};
struct rules {
    struct xp_rule *array; /* XP_MAX_RULES of them, borrowed: what the kernel side reads */
    struct rule_use *uses; /* by number */
    u32 n;                 /* numbers below were given out some time; 0 is XP_CFA_NONE, for ever */
    u32 oldest, youngest;  /* of the numbers that rest; 0: none does */
    struct map ids;        /* rule as u64 -> number */
    struct shares shares;
};

/* 0 or -ENOMEM; rules_fini in any case. */
int rules_init(struct rules *r, struct xp_rule *array);
void rules_fini(struct rules *r);
/* Enters the rules of a table for an owner (or SHARES_ALL): numbers[i] is that of rules[i]. All or none: 0; -EOVERFLOW:
 * more than a file may have; -ENOSPC: the dictionary is full; -EUSERS: the owner's share of it is; -ENOMEM. */
int rules_take(struct rules *r, u64 owner, const struct xp_rule *rules, u32 n, u16 *numbers);
/* The table is gone: as rules_take gave the numbers. */
void rules_give(struct rules *r, const u16 *numbers, u32 n);
