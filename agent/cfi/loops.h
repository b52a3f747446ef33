/* Finds the loops of interpreters: functions whose frames stand for those of scripts. On the kernel side their place is
 * taken by the script's own frames (XP_CFA_RSP_LOOP in bpf/rules.h). They are found by dynamic symbols, which stripped
 * files have, too, and Ruby's, which has none, by its table of labels. What compilers put elsewhere (NAME.cold) has a
 * symbol only where the file is not stripped. A file has loops of one language. Where the loop of CPython consists of
 * functions that call each other in their last place, each of them is one.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "elf/elf.h"

#define LOOPS_MAX 512

struct loops {
    u32 language; /* enum xp_language */
    size_t n;
    struct loop {       /* ascending */
        u64 start, end; /* file offsets */
    } v[LOOPS_MAX];
};

void loops_find(const struct elf_file *e, struct loops *out);

static inline bool loops_has(const struct loops *l, u64 offset)
{
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->v[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low && offset < l->v[low - 1].end;
}

/* The kind of rule of a frame of a loop that has this one elsewhere. Rules of rare kinds stay what they are. */
static inline u8 loop_kind(u8 kind)
{
    u32 cfa = XP_RULE_CFA(kind);
    if (cfa == XP_CFA_RSP || cfa == XP_CFA_RBP)
        return XP_RULE_KIND(cfa == XP_CFA_RSP ? XP_CFA_RSP_LOOP : XP_CFA_RBP_LOOP, XP_RULE_RBP(kind));
    return kind;
}
