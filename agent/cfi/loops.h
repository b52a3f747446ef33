/* Finds the loops of interpreters: functions whose frames stand for those of scripts. On the kernel side their place is
 * taken by the script's own frames (XP_CFA_RSP_LOOP in bpf/rules.h). They are found by dynamic symbols, which stripped
 * files have, too, and Ruby's, which has none, by its table of labels. What compilers put elsewhere (NAME.cold) has a
 * symbol only where the file is not stripped. A file has loops of one language.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "elf/elf.h"

#define LOOPS_MAX 16

struct loops {
    u32 language; /* enum xp_language */
    size_t n;
    struct loop {
        u64 start, end; /* file offsets */
    } v[LOOPS_MAX];
};

void loops_find(const struct elf_file *e, struct loops *out);

static inline bool loops_has(const struct loops *l, u64 offset)
{
    for (size_t i = 0; i < l->n; i++)
        if (offset >= l->v[i].start && offset < l->v[i].end)
            return true;
    return false;
}

/* The kind of rule of a frame of a loop that has this one elsewhere. Rules of rare kinds stay what they are. */
static inline u8 loop_kind(u8 kind)
{
    u32 cfa = XP_RULE_CFA(kind);
    if (cfa == XP_CFA_RSP || cfa == XP_CFA_RBP)
        return XP_RULE_KIND(cfa == XP_CFA_RSP ? XP_CFA_RSP_LOOP : XP_CFA_RBP_LOOP, XP_RULE_RBP(kind));
    return kind;
}
