/* Declarations shared by address_space.c and address_code.c. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "cfi/table.h"
#include "inspect/address_space.h"

struct address_space {
    u32 tgid, tid; /* tid: through which thread it is seen */
    struct binaries *binaries;
    VEC(struct xp_vma) vmas;
    size_t unopened; /* mappings whose file was refused */
    int open_error;
    /* Laid out as agent/probe/shards.c does it in the kernel's maps. */
    VEC(u32) words;
    VEC(struct xp_rule) rules; /* XP_MAX_RULES of them */
    struct map rule_ids;       /* rule as u64 -> number + 1 */
    u32 nrules;
    u32 uids;         /* of tables so far */
    struct map whole; /* id -> how often rows for the rest of its code were asked for */
    bool code_read;   /* generated code was looked for */
    bool runtime_sought;
    struct xp_machine machine; /* of the process's runtime; kind 0: none is known */
};

/* Loads a table behind all others; `f` has the ID of its file. Returns 0, -ENOSPC (rules) or -ENOMEM. */
int address_space_load(struct address_space *s, const struct xp_table *t, struct xp_file *f);
/* The stack runs through generated code: what can be found of it, once. False: there is none. */
bool address_space_fetch_code(struct address_space *s, const struct xp_state *state);
