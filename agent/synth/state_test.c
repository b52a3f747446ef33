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

/* Callee-saved registers, stack addresses and sizes are; and r12 to r15 give way to what rules need. */
TEST(state_slots_are_for_what_is_of_use)
{
    static const struct {
        u64 value;
        bool kept;
    } cases[] = {{ENTERED(INSN_RBX), true},
                 {ENTERED(INSN_RBP), true},
                 {ENTERED(12), true},
                 {ENTERED(15), true},
                 {ENTERED(11), false},
                 {ENTERED(INSN_RAX), false},
                 {CFA(-8), true},
                 {VALUE(VALUE_SLOT, 0, -8), true},
                 {VALUE(VALUE_SIZE, 7, 8), true},
                 {VALUE_UNKNOWN, false},
                 {(u64)VALUE_CONST << 60 | 5, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct state s;
        state_entry(&s);
        state_store(&s, CFA(-16), cases[i].value);
        CHECK_EQ(s.slots, cases[i].kept);
    }
    struct state s;
    state_entry(&s);
    for (s32 i = 0; i < STATE_SLOTS; i++)
        state_store(&s, CFA(-16 - 8 * i), i == 5 ? ENTERED(13) : CFA(-8 * i));
    state_store(&s, CFA(-200), ENTERED(INSN_RBX)); /* it takes the place of r13 */
    CHECK_EQ(s.slots, STATE_SLOTS);
    CHECK_EQ(state_load(&s, CFA(-200)), ENTERED(INSN_RBX));
    CHECK(VALUE_KIND(state_load(&s, CFA(-56))) == VALUE_SLOT);
    state_store(&s, CFA(-208), ENTERED(INSN_RBP)); /* there is no other */
    CHECK_EQ(s.slots, STATE_SLOTS);
    CHECK(VALUE_KIND(state_load(&s, CFA(-208))) == VALUE_SLOT);
    state_store(&s, CFA(-200), ENTERED(INSN_RBP)); /* over itself */
    CHECK_EQ(state_load(&s, CFA(-200)), ENTERED(INSN_RBP));
}

TEST(state_loads_what_nobody_stored)
{
    struct state s;
    state_entry(&s);
    CHECK_EQ(state_load(&s, CFA(-40)), VALUE(VALUE_SLOT, 0, -40));
    CHECK_EQ(state_load(&s, OTHER(-40)), VALUE_UNKNOWN);
    CHECK_EQ(s.reg[INSN_RSP], CFA(-8));
    CHECK_EQ(state_unchanged(&s), 0xffef); /* but for rsp */
    s.reg[3] = s.reg[15] = VALUE_UNKNOWN;
    CHECK_EQ(state_unchanged(&s), 0x7fe7);
}

TEST(state_smashes_what_it_touches)
{
    for (s32 at = -25; at <= -7; at++) {
        struct state s;
        state_entry(&s);
        state_store(&s, CFA(-16), ENTERED(INSN_RBX));
        state_smash(&s, CFA(at), 4);
        CHECK_EQ(s.slots, at + 4 <= -16 || at >= -8);
    }
}

TEST(state_calls_know_no_slot_without_rsp)
{
    struct state s;
    state_entry(&s);
    state_store(&s, CFA(-16), ENTERED(INSN_RBX));
    state_store(&s, OTHER(-16), ENTERED(INSN_RBP));
    s.reg[INSN_RSP] = CFA(-16);
    state_call(&s, 1 << INSN_RBX);
    CHECK_EQ(s.slots, 2); /* what rsp points at is the caller's */
    CHECK(s.reg[INSN_RBX] == ENTERED(INSN_RBX) && s.reg[INSN_RBP] == VALUE_UNKNOWN && s.reg[INSN_RSP] == CFA(-16));
    s.reg[INSN_RSP] = CFA(-8);
    state_call(&s, KEPT_BY_ABI);
    CHECK_EQ(s.slots, 1);
    s.reg[INSN_RSP] = VALUE_UNKNOWN;
    state_call(&s, KEPT_BY_ABI);
    CHECK_EQ(s.slots, 1);
}

TEST(state_forgets_all_of_a_base)
{
    struct state s;
    state_entry(&s);
    s.reg[INSN_RAX] = OTHER(8);
    s.reg[INSN_RCX] = VALUE(VALUE_SIZE, 7, 8);
    s.reg[INSN_RDX] = VALUE(VALUE_STACK, 8, 8);
    s.reg[INSN_RSI] = ENTERED(7);
    state_store(&s, CFA(-16), VALUE(VALUE_SIZE, 7, 8));
    state_store(&s, CFA(-24), OTHER(0));
    state_store(&s, OTHER(-24), ENTERED(INSN_RBX));
    state_store(&s, CFA(-32), ENTERED(INSN_RBX));
    state_store(&s, CFA(-40), VALUE(VALUE_STACK, 8, 8));
    state_forget(&s, 7);
    CHECK(!s.reg[INSN_RAX] && !s.reg[INSN_RCX]);
    CHECK(s.reg[INSN_RDX] == VALUE(VALUE_STACK, 8, 8) && s.reg[INSN_RSI] == ENTERED(7));
    CHECK_EQ(s.slots, 2);
    CHECK_EQ(state_load(&s, CFA(-32)), ENTERED(INSN_RBX));
    CHECK_EQ(state_load(&s, CFA(-40)), VALUE(VALUE_STACK, 8, 8));
}

TEST(state_meetings_remember_calls)
{
    struct target_sets none = {.code = &(struct code){0}};
    struct state a, b;
    state_entry(&a);
    b = a;
    b.called = true;
    CHECK(state_meet(&a, &b, &none) && a.called);
    CHECK(!state_meet(&a, &b, &none));
    b.called = false;
    CHECK(!state_meet(&a, &b, &none) && a.called);
    a.reg[INSN_RAX] = VALUE_UNKNOWN; /* less cannot be said */
    b.reg[INSN_RAX] = CFA(-8);
    CHECK(!state_meet(&a, &b, &none) && !a.reg[INSN_RAX]);
    state_store(&a, CFA(-16), ENTERED(INSN_RBX));
    CHECK(state_meet(&a, &b, &none) && !a.slots);
}

TEST(state_values_within_reason)
{
    CHECK_EQ(value_move(CFA(-8), -8), CFA(-16));
    CHECK_EQ(value_move(OTHER(0), VALUE_MAX_OFF), OTHER(VALUE_MAX_OFF));
    CHECK_EQ(value_move(OTHER(0), -VALUE_MAX_OFF), OTHER(-VALUE_MAX_OFF));
    CHECK_EQ(value_move(CFA(1), VALUE_MAX_OFF), VALUE_UNKNOWN);
    CHECK_EQ(value_move(CFA(-1), -VALUE_MAX_OFF), VALUE_UNKNOWN);
    CHECK_EQ(value_move(CFA(0), 1ll << 40), VALUE_UNKNOWN);
    CHECK_EQ(value_number(value_const(1ull << 55)), 1ull << 55);
    CHECK_EQ(value_const(1ull << 56), VALUE_UNKNOWN);
}

/* Two addresses of code are a set, which has a number; more than sixteen are nobody's. */
TEST(targets_are_sets_of_addresses)
{
    struct code_gap gap = {.start = 0x1000, .end = 0x1100};
    struct code code = {.gaps = {.v = &gap, .n = 1}};
    struct target_sets t = {.code = &code};
    u64 a = value_const(0x1010), b = value_const(0x1008), c = value_const(0x10ff);
    u64 ab = targets_either(&t, a, b), ba = targets_either(&t, b, a);
    bool pair = VALUE_KIND(ab) == VALUE_TARGETS && ab == ba && t.v.n == 1 && t.v.v[0].n == 2 &&
                t.v.v[0].v[0] == 0x1008 && t.v.v[0].v[1] == 0x1010;
    u64 abc = targets_either(&t, ab, c), again = targets_either(&t, abc, ab), other = targets_either(&t, c, b);
    bool three = abc != ab && again == abc && t.v.n == 3 && t.v.v[1].n == 3 && t.v.v[1].v[2] == 0x10ff && other != ab;
    u64 outside = targets_either(&t, a, value_const(0x1100)), entry = targets_either(&t, a, ENTERED(INSN_RBX)),
        first = targets_either(&t, CFA(-8), a), all = a;
    u64 sixteen = 0;
    for (u64 i = 0; i < 17; i++) {
        sixteen = i == 16 ? all : 0;
        all = targets_either(&t, all, value_const(0x1010 + i));
    }
    vec_free(&t.v);
    CHECK(pair && three);
    CHECK(!outside && !entry && !first);
    CHECK(sixteen && !all);
}
