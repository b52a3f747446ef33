#include "synth/state.h"
#include "base/test.h"
#include "synth/targets.h"

#define CFA(off)     VALUE(VALUE_STACK, 0, off)
#define OTHER(off)   VALUE(VALUE_STACK, 7, off)
#define ENTERED(reg) VALUE(VALUE_ENTRY, reg, 0)

TEST(state_slots_are_overwritten_in_part)
{
    struct state s;
    state_entry(&s);
    state_store(&s, CFA(-16), ENTERED(INSN_RBX));
    state_store(&s, CFA(-24), ENTERED(INSN_RBP));
    state_smash(&s, CFA(-17), 1);
    CHECK_EQ(state_load(&s, CFA(-16)), ENTERED(INSN_RBX));
    CHECK(state_load(&s, CFA(-24)) != ENTERED(INSN_RBP));
    state_smash(&s, OTHER(-16), 8); /* somewhere else */
    CHECK_EQ(state_load(&s, CFA(-16)), ENTERED(INSN_RBX));
}

TEST(state_calls_take_what_is_below_rsp)
{
    struct state s;
    state_entry(&s);
    s.reg[INSN_RSP] = CFA(-24);
    state_store(&s, CFA(-16), ENTERED(INSN_RBX));
    state_store(&s, CFA(-32), ENTERED(INSN_RBP));
    state_call(&s, KEPT_BY_ABI);
    CHECK_EQ(state_load(&s, CFA(-16)), ENTERED(INSN_RBX));
    CHECK(state_load(&s, CFA(-32)) != ENTERED(INSN_RBP));
    CHECK_EQ(s.reg[INSN_RBX], ENTERED(INSN_RBX));
    CHECK_EQ(s.reg[INSN_RAX], VALUE_UNKNOWN);
}

TEST(state_new_bases_are_not_the_old_ones)
{
    struct state s;
    state_entry(&s);
    s.reg[INSN_RBP] = OTHER(16);
    state_store(&s, OTHER(8), CFA(-8));
    state_store(&s, CFA(-16), OTHER(0));
    state_forget(&s, 7);
    CHECK_EQ(s.reg[INSN_RBP], VALUE_UNKNOWN);
    CHECK_EQ(s.slots, 0);
}

TEST(state_meetings_only_lose)
{
    struct target_sets none = {.code = &(struct code){0}};
    struct state a, b;
    state_entry(&a);
    state_store(&a, CFA(-16), ENTERED(INSN_RBX));
    state_store(&a, CFA(-24), ENTERED(INSN_RBP));
    b = a;
    CHECK(!state_meet(&a, &b, &none));
    b.reg[INSN_RAX] = CFA(-8);
    state_store(&b, CFA(-24), ENTERED(INSN_RBX));
    CHECK(state_meet(&a, &b, &none));
    CHECK_EQ(a.reg[INSN_RAX], VALUE_UNKNOWN);
    CHECK_EQ(state_load(&a, CFA(-16)), ENTERED(INSN_RBX));
    CHECK(VALUE_KIND(state_load(&a, CFA(-24))) == VALUE_SLOT);
    CHECK(!state_meet(&a, &b, &none));
}
