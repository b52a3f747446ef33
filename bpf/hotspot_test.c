/* What the unwinder makes of code of HotSpot. */
#include "bpf/hotspot_fixture_test.h"

TEST(hotspot_compiled_frames_and_a_stub)
{
    AUTO_MACHINE m = machine_new();
    CHECK_EQ(unwind(m, CODE(COMPILED) + 50, STACK + 8 * 16), 7);
    CHECK(java_is(m, 0, XP_JAVA_COMPILED, BLOB(COMPILED), 50, true));
    CHECK_EQ(XP_MORE_COOKIE(m->w->state->words[1]), ID);
    CHECK(callers_are_right(m, 2));
}

TEST(hotspot_leaf_at_its_entry_and_its_end)
{
    static const struct {
        u32 offset;   /* of ip, from the start of the code */
        s32 from;     /* of the bytes, from ip */
        u8 bytes[16]; /* the code there */
        u32 words;    /* of the frame that are on the stack */
    } places[] = {
        {0, 0, {0x55}, 1},
        {9, -1, {0x55, 0x48}, 2},                          /* push rbp */
        {12, -4, {0x55, 0x48, 0x8b, 0xec}, 2},             /* and mov rbp, rsp */
        {15, -4, {0x48, 0x83, 0xec, 0x10}, 4},             /* sub rsp, 16 */
        {64, -4, {0x48, 0x83, 0xc4, 0x10, 0x5d}, 2},       /* add rsp, 16; here: pop rbp */
        {64, -1, {0x5d, 0x49, 0x3b, 0x67, 0x28}, 1},       /* here: cmp rsp, [r15 + 40] */
        {64, -1, {0x5d, 0x85, 0x05}, 1},                   /* here: test eax, [rip + N] */
        {64, -1, {0x5d, 0x4d, 0x8b, 0x97}, 1},             /* here: mov r10, [r15 + N] */
        {64, -1, {0x5d, 0x41, 0x85, 0x02}, 1},             /* here: test [r10], eax */
        {64, -1, {0x28, 0x0f, 0x87, 1, 0, 0, 0, 0xc3}, 1}, /* here: ja; ret */
        {64, 0, {0xc3}, 1},
        {64, -1, {0xc9, 0x49, 0x81, 0x7f, 8}, 1},                                     /* leave; cmp [r15 + 8], 0 */
        {64, -8, {0x49, 0x81, 0x7f, 8, 0, 0, 0, 0, 0x0f, 0x85, 1, 0, 0, 0, 0xc3}, 1}, /* here: jne; ret */
        {64, -5, {0x49, 0x83, 0x7f, 8, 0, 0x0f, 0x85, 1, 0, 0, 0, 0xc3}, 1},          /* the same */
        {64, 0, {0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55}, 1},     /* an entry of a loop: mov [rsp - 81920], eax */
        {64, 0, {0x55, 0x48, 0x83, 0xec, 0x10}, 1},                    /* push rbp */
        {64, -1, {0x55, 0x48, 0x83, 0xec, 0x10}, 2},                   /* here: sub rsp, 16 */
        {64, -1, {0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x10}, 2}, /* here: mov rbp, rsp */
        {64, -4, {0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x10}, 2}, /* here: sub rsp, 16 */
    };
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        AUTO_MACHINE m = machine_new();
        u64 ip = CODE(COMPILED) + places[i].offset;
        memcpy(at(m, ip + (u64)places[i].from), places[i].bytes, sizeof(places[i].bytes));
        for (unsigned k = 0; k < 3; k++) /* nothing there is taken for a return address */
            world_set(m->w, STACK + 8 * (16 + k), 0x40);
        CHECK_EQ(unwind(m, ip, STACK + 8 * (20 - places[i].words)), 7);
        CHECK_EQ(m->w->state->cause, XP_CAUSE_END);
        CHECK(java_is(m, 2, XP_JAVA_COMPILED, BLOB(COMPILED), 40, false));
    }
}

/* The frame is there where it is asked whether the method may be entered; on it is what was a return address before. */
TEST(hotspot_leaf_asks_whether_to_enter)
{
    static const struct {
        s32 from; /* of the bytes, from ip */
        u8 bytes[8];
    } places[] = {
        {0, {0x41, 0x81, 0x7f, 0x20, 1}},    /* cmp dword ptr [r15 + 32], 1 */
        {-8, {0x41, 0x81, 0x7f, 0x20, 1}},   /* behind that */
        {-5, {0x41, 0x83, 0x7f, 0x20, 0}},   /* cmp dword ptr [r15 + 32], 0: it is shorter */
        {0, {0x41, 0x81, 0xbf, 0, 1, 0, 0}}, /* cmp dword ptr [r15 + 256], N */
    };
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        AUTO_MACHINE m = machine_new();
        u64 ip = CODE(COMPILED) + 12;
        memcpy(at(m, ip + (u64)places[i].from), places[i].bytes, sizeof(places[i].bytes));
        world_set(m->w, STACK + 8 * 16, ret(COMPILED, 3));
        CHECK_EQ(unwind(m, ip, STACK + 8 * 16), 7);
        CHECK(callers_are_right(m, 2));
    }
}

/* Recursion: what is known of a return address holds for its next frame, unless the code is another method's by now. */
TEST(hotspot_return_addresses_are_remembered)
{
    AUTO_MACHINE m = machine_new();
    for (u32 i = 0; i < 4; i++)
        world_set(m->w, STACK + 8 * (3 + 4 * i), ret(COMPILED, 3));
    unwind(m, CODE(COMPILED) + 50, STACK);
    CHECK_EQ(m->w->state->sample.nuser, 2 + 8 + 5);
    for (u32 i = 0; i < 4; i++)
        CHECK(java_is(m, 2 + 2 * i, XP_JAVA_COMPILED, BLOB(COMPILED), 24, false));
    CHECK(callers_are_right(m, 10));
}

/* Arguments lie on the stack that the blob does not know of. */
TEST(hotspot_return_address_is_looked_for)
{
    AUTO_MACHINE m = machine_new();
    for (unsigned k = 12; k < 19; k++)
        world_set(m->w, STACK + 8 * k, 0x40);
    CHECK_EQ(unwind(m, CODE(COMPILED) + 50, STACK + 8 * 12), 7);
    CHECK(callers_are_right(m, 2));
    AUTO_MACHINE lost = machine_new();
    CHECK_EQ(world_unwind(lost->w, CODE(COMPILED) + 50, STACK, 0), 2);
    CHECK_EQ(lost->w->state->cause, XP_CAUSE_JAVA_FRAME);
}

/* A word of the method's own is on the frame, below it one that looks like a return address. */
TEST(hotspot_leaf_has_pushed_words)
{
    for (u32 n = 0; n <= 8; n++) {
        AUTO_MACHINE m = machine_new();
        u64 sp = STACK - 8 * (16 + n);
        static const u8 jump[] = {0x7c, 0x5d}; /* is no pop of rbp */
        memcpy(at(m, CODE(STUB) + 48), jump, sizeof(jump));
        set32(m, BLOB(STUB) + 28, 16);
        memcpy(at(m, NAMES + 32), "nmethod", 8); /* another method, with a larger frame */
        unwind(m, CODE(COMPILED) + 50, STACK);
        for (u32 i = 0; i < 16 + n; i++)
            world_set(m->w, sp + 8 * i, 0x40);
        world_set(m->w, STACK - 8, ret(COMPILED, 6));
        world_unwind(m->w, CODE(STUB) + 50, sp, 0x77);
        CHECK(java_is(m, 0, XP_JAVA_COMPILED, BLOB(STUB), 50, true));
        CHECK(java_is(m, 2, XP_JAVA_COMPILED, BLOB(COMPILED), 48, false));
    }
}

/* The same, called by the interpreter, which does not push where a call of its own ended. */
TEST(hotspot_leaf_of_the_interpreter_has_pushed_a_word)
{
    AUTO_MACHINE m = machine_new();
    u64 fp = interpreted(m, CONST + BYTECODE + 9), sp = STACK + 8 * 2;
    memset(at(m, CODE(INTERPRETER)), 0, 0x80);
    world_set(m->w, sp + 8 * 3, fp);
    world_set(m->w, sp + 8 * 4, ret(INTERPRETER, 3));
    CHECK_EQ(world_unwind(m->w, CODE(COMPILED) + 50, sp, 0x77), 9);
    CHECK(java_is(m, 2, XP_JAVA_INTERPRETED, METHODS, 9, false));
    CHECK(callers_are_right(m, 4));
}

TEST(hotspot_deoptimised_frame_has_its_own_pc)
{
    AUTO_MACHINE m = machine_new();
    u64 leaf = STACK + 8 * 16;
    unwind(m, CODE(COMPILED) + 50, leaf);
    world_set(m->w, leaf + 8 * 3, BLOB(COMPILED) + 0xf0); /* the caller's is the handler */
    world_set(m->w, leaf + 8 * 4 + 8, ret(COMPILED, 3));
    CHECK_EQ(world_unwind(m->w, CODE(COMPILED) + 50, leaf, 0x99), 7);
    CHECK(java_is(m, 2, XP_JAVA_COMPILED, BLOB(COMPILED), 24, false));
}

TEST(hotspot_interpreter_frames)
{
    AUTO_MACHINE m = machine_new();
    u64 fp = interpreted(m, CONST + BYTECODE + 9);
    m->w->regs.r[13] = CONST + BYTECODE + 3; /* the leaf's bytecode is in a register */
    CHECK_EQ(world_unwind(m->w, CODE(INTERPRETER) + 50, STACK, fp), 7);
    CHECK(java_is(m, 0, XP_JAVA_INTERPRETED, METHODS, 3, true));
    CHECK_EQ(XP_MORE_COOKIE(m->w->state->words[1]), XP_JAVA_COOKIE(CONST, SYMBOL, 0x1234));
    CHECK(callers_are_right(m, 2));
    m->w->regs.r[13] = 0;
    CHECK_EQ(world_unwind(m->w, CODE(INTERPRETER) + 50, STACK, fp), 7);
    CHECK(java_is(m, 0, XP_JAVA_INTERPRETED, METHODS, 9, true));
    world_set(m->w, fp - 8 * 8, 5);
    CHECK_EQ(world_unwind(m->w, CODE(INTERPRETER) + 50, STACK, fp), 7);
    CHECK(java_is(m, 0, XP_JAVA_INTERPRETED, METHODS, XP_JAVA_NO_BCI, true));
}

/* The frame of the leaf is there, but rbp, by which its caller is found, is not saved in it yet. */
TEST(hotspot_leaf_has_rbp_in_its_register)
{
    static const u8 entry[] = {0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10}; /* sub rsp; mov [rsp + 16], rbp */
    AUTO_MACHINE m = machine_new();
    u64 fp = interpreted(m, CONST + BYTECODE + 9), sp = STACK + 8 * 2;
    memcpy(at(m, CODE(COMPILED) + 4), entry, sizeof(entry));
    world_set(m->w, sp + 8 * 2, STACK + 8 * 5);
    world_set(m->w, sp + 8 * 3, ret(INTERPRETER, 3));
    CHECK_EQ(world_unwind(m->w, CODE(COMPILED) + 8, sp, fp), 9);
    CHECK(java_is(m, 2, XP_JAVA_INTERPRETED, METHODS, 9, false));
    CHECK(callers_are_right(m, 4));
}

/* Frames that take the place of a compiled one: they are there, and what they have for a method is what was there. */
TEST(hotspot_frames_that_are_made_have_no_method_yet)
{
    AUTO_MACHINE m = machine_new();
    make_blob(m, STUB, "DeoptimizationBlob", 4, NAMES + 32);
    u64 fp = interpreted(m, CONST + BYTECODE + 9), sp = STACK + 8 * 2;
    world_set(m->w, sp + 8 * 2, fp); /* the frame of the stub: rbp, return address */
    world_set(m->w, sp + 8 * 3, ret(INTERPRETER, 3));
    CHECK_EQ(world_unwind(m->w, CODE(STUB) + 50, sp, 0x77), 9);
    CHECK(java_is(m, 2, XP_JAVA_STUB, BLOB(INTERPRETER), 0x80 + 24, false));
    CHECK(callers_are_right(m, 4));
    make_blob(m, STUB, "StubRoutines", 4, NAMES + 32);
    world_unwind(m->w, CODE(STUB) + 50, sp, 0x77);
    CHECK(java_is(m, 2, XP_JAVA_INTERPRETED, METHODS, 9, false));
}

/* Where the stub calls what fills them in, rsp is aligned: there may be one word more. */
TEST(hotspot_stub_that_makes_frames_aligns_its_own)
{
    for (u32 more = 0; more < 2; more++) {
        AUTO_MACHINE m = machine_new();
        make_blob(m, STUB, "DeoptimizationBlob", 20, NAMES + 32);
        u64 fp = interpreted(m, CONST + BYTECODE + 9), sp = STACK - 8 * (18 + more);
        world_set(m->w, STACK, fp);
        world_set(m->w, STACK + 8, ret(INTERPRETER, 3));
        CHECK_EQ(world_unwind(m->w, CODE(STUB) + 50, sp, 0x77), 9);
        CHECK(java_is(m, 2, XP_JAVA_STUB, BLOB(INTERPRETER), 0x80 + 24, false));
        CHECK(callers_are_right(m, 4));
    }
}

/* A class that is loaded later has the same addresses, but not the same number. */
TEST(hotspot_cookies_tell_classes_apart)
{
    AUTO_MACHINE m = machine_new();
    u64 fp = interpreted(m, CONST + BYTECODE + 9);
    world_unwind(m->w, CODE(INTERPRETER) + 50, STACK, fp);
    u32 cookie = XP_MORE_COOKIE(m->w->state->words[1]);
    set32(m, SYMBOL, 0x12355678);
    world_unwind(m->w, CODE(INTERPRETER) + 50, STACK, fp);
    CHECK(XP_MORE_COOKIE(m->w->state->words[1]) != cookie);
    set32(m, SYMBOL, 0x12349999); /* who uses it */
    world_unwind(m->w, CODE(INTERPRETER) + 50, STACK, fp);
    CHECK_EQ(XP_MORE_COOKIE(m->w->state->words[1]), cookie);
    world_set(m->w, CLASS + 16, 1);
    world_unwind(m->w, CODE(INTERPRETER) + 50, STACK, fp);
    CHECK_EQ(XP_MORE_COOKIE(m->w->state->words[1]), XP_JAVA_COOKIE(CONST, 0, 0));
}

/* Callers are frozen: it goes on in the frame that mounted the virtual thread. */
TEST(hotspot_virtual_thread)
{
    AUTO_MACHINE m = machine_new();
    m->machine.jvm.return_barrier = ret(STUB, 2);
    m->machine.jvm.entry_return = ret(COMPILED, 5);
    unwind(m, CODE(COMPILED) + 50, STACK + 8 * 16);
    world_set(m->w, STACK + 8 * 19, ret(STUB, 2));
    CHECK_EQ(world_unwind(m->w, CODE(COMPILED) + 50, STACK + 8 * 16, 0x99), 9);
    CHECK(java_is(m, 2, XP_JAVA_FROZEN, ret(STUB, 2), 0, false));
    CHECK(callers_are_right(m, 4));
}

/* Whatever a process has there, it ends. */
TEST(hotspot_crafted_memory)
{
    for (u32 round = 0; round < 2000; round++) {
        AUTO_MACHINE m = machine_new();
        u32 x = round * 2654435761u | 1;
        u64 fp = interpreted(m, CONST + BYTECODE);
        for (u32 i = 0; i < 40; i++) {
            x = x * 1664525 + 1013904223;
            u8 *b = (u8 *)m->w->memory + (x >> 4) % sizeof(m->w->memory);
            *b = (u8)(x >> 24);
        }
        if (round & 1)
            m->machine.jvm.heap[0].segmap = HEAP + (x & 0xfff);
        if (round & 2)
            m->machine.jvm.blob_frame_size = (u16)(x & 0x17f);
        world_unwind(m->w, CODE(round & 4 ? COMPILED : INTERPRETER) + x % 128, STACK + x % 200 * 8, fp);
        CHECK(m->w->state->cause < XP_CAUSE_COUNT);
    }
}
