/* What the unwinder makes of what is between compiled methods and the interpreter of HotSpot. */
#include "bpf/hotspot_fixture_test.h"

/* Arguments are on the stack between the return address, which an adapter has moved, and its old place. */
TEST(hotspot_adapters_have_moved_the_return_address)
{
    AUTO_MACHINE m = machine_new();
    u64 sp = STACK + 8 * 4, old = STACK + 8 * 15;
    make_blob(m, STUB, "I2C/C2I adapters", 0, NAMES + 32);
    unwind(m, CODE(COMPILED) + 50, STACK + 8 * 16);
    world_set(m->w, STACK + 8 * 19 + 8 * 3, ret(COMPILED, 4)); /* what called the caller is compiled, too */
    world_set(m->w, sp, ret(COMPILED, 3));
    world_set(m->w, old, ret(COMPILED, 3));
    m->w->regs.r[13] = old + 8;
    world_unwind(m->w, CODE(STUB) + 50, sp, 0x99);
    CHECK(java_is(m, 2, XP_JAVA_COMPILED, BLOB(COMPILED), 24, false));
    CHECK(java_is(m, 4, XP_JAVA_COMPILED, BLOB(COMPILED), 40, false)); /* the next one, and not the same one again */
    m->w->regs.r[13] = 0x1000;
    world_unwind(m->w, CODE(STUB) + 50, old, 0x99);
    CHECK(java_is(m, 4, XP_JAVA_COMPILED, BLOB(COMPILED), 40, false));
}

/* The frame of the method is not made yet. */
TEST(hotspot_interpreter_entry)
{
    AUTO_MACHINE m = machine_new();
    unwind(m, CODE(COMPILED) + 50, STACK + 8 * 16);
    CHECK_EQ(world_unwind(m->w, CODE(INTERPRETER) + 50, STACK + 8 * 19, 0x99), 7);
    CHECK(java_is(m, 0, XP_JAVA_STUB, BLOB(INTERPRETER), 0x80 + 50, true));
    CHECK(callers_are_right(m, 2));
    u64 fp = STACK + 8 * 26; /* the stub's, which calls a method that it has, too */
    world_set(m->w, fp - 8, STACK + 8 * 20);
    world_set(m->w, fp - 8 * 3, METHODS);
    world_set(m->w, STACK + 8 * 18, ret(STUB, 4));
    CHECK_EQ(world_unwind(m->w, CODE(INTERPRETER) + 50, STACK + 8 * 18, fp), 5);
    CHECK(java_is(m, 0, XP_JAVA_STUB, BLOB(INTERPRETER), 0x80 + 50, true));
    CHECK(java_is(m, 2, XP_JAVA_STUB, BLOB(STUB), 0x80 + 32, false));
    CHECK_EQ(m->w->state->cause, XP_CAUSE_END);
}

/* A stub called by a compiled method, which was called by another one. Returns where that one has its frame. */
static u64 adapted(struct machine *m)
{
    make_blob(m, STUB, "I2C/C2I adapters", 0, NAMES + 32);
    unwind(m, CODE(COMPILED) + 50, STACK + 8 * 16);
    world_set(m->w, STACK + 8 * 19 + 8 * 3, ret(COMPILED, 4));
    return STACK + 8 * 16;
}

static bool is_called_by_two(struct machine *m, u64 ip, u64 sp)
{
    world_unwind(m->w, ip, sp, 0x99);
    u32 at = XP_WORD_KIND(m->w->state->words[0]) == XP_WORD_JAVA ? 2 : 3;
    return java_is(m, at, XP_JAVA_COMPILED, BLOB(COMPILED), 24, false) &&
           java_is(m, at + 2, XP_JAVA_COMPILED, BLOB(COMPILED), 40, false);
}

/* Between where it takes the return address and where it puts it back, that is in rax; what is on the stack was left
 * there by others. */
TEST(hotspot_adapters_have_the_return_address_in_a_register)
{
    AUTO_MACHINE m = machine_new();
    u64 caller = adapted(m), sp = caller - 8 * 6;
    for (u32 i = 0; i < 5; i++)
        world_set(m->w, sp + 8 * i, ret(COMPILED, 6));
    world_set(m->w, caller - 8, ret(COMPILED, 3));
    m->w->regs.r[0] = ret(COMPILED, 3);
    m->w->regs.r[13] = caller;
    CHECK(is_called_by_two(m, CODE(STUB) + 50, sp));
    m->w->regs.r[13] = 0x1000; /* not set yet */
    CHECK(is_called_by_two(m, CODE(STUB) + 50, caller));
    m->w->regs.r[13] = caller - 8; /* below it, registers are pushed */
    CHECK(is_called_by_two(m, CODE(STUB) + 50, sp - 8 * 3));
}

/* At its entry, r13 is what it was set to before. */
TEST(hotspot_adapters_have_an_old_register)
{
    AUTO_MACHINE m = machine_new();
    u64 caller = adapted(m);
    world_set(m->w, caller - 8, ret(COMPILED, 3));
    m->w->regs.r[13] = caller + 8 * 5;
    CHECK(is_called_by_two(m, CODE(STUB) + 50, caller - 8));
}

/* It calls native code; all registers are below its return address, and the state of the FPU below them. */
TEST(hotspot_adapters_call_the_virtual_machine)
{
    static const u32 state[] = {512, 2688};
    for (unsigned i = 0; i < 2; i++) {
        AUTO_MACHINE m = machine_new();
        u64 caller = adapted(m), sp = caller - 8 * 2 - 18 * 8 - state[i];
        u64 native = world_add(m->w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8});
        world_set(m->w, caller - 8, ret(COMPILED, 3));
        world_set(m->w, sp - 8, ret(STUB, 3));
        world_set(m->w, sp + state[i] + 16, caller - 8);
        CHECK(is_called_by_two(m, native, sp - 8));
    }
}
