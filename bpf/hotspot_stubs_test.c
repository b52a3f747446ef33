/* What the unwinder makes of HotSpot's stubs, and of what is pushed onto a frame to call one. */
#include "bpf/hotspot_fixture_test.h"

/* A stub that has not made its frame yet. */
TEST(hotspot_stubs_at_their_start)
{
    AUTO_MACHINE m = machine_new();
    static const u8 enter[] = {0x55, 0x48, 0x8b, 0xec};
    memcpy(at(m, CODE(STUB)), enter, sizeof(enter));
    set32(m, BLOB(STUB) + 28, 5);
    unwind(m, CODE(COMPILED) + 50, STACK + 8 * 16);
    for (u32 i = 0; i < 3; i++) {
        u64 sp = STACK + 8 * (i ? 14 : 15);
        world_set(m->w, STACK + 8 * 14, 0x99);
        world_set(m->w, STACK + 8 * 15, ret(COMPILED, 2));
        world_unwind(m->w, CODE(STUB) + (i < 2 ? i : 4), sp, 0x77);
        CHECK(java_is(m, 2, XP_JAVA_COMPILED, BLOB(COMPILED), 16, false));
        CHECK(java_is(m, 4, XP_JAVA_COMPILED, BLOB(COMPILED), 40, false));
    }
}

/* A stub that aligns its frame, and computes with rbp: its caller called it, which what is left there of other calls
 * did not. The two ways to call it. */
TEST(hotspot_stubs_that_use_rbp)
{
    for (u32 far = 0; far < 2; far++) {
        AUTO_MACHINE m = machine_new();
        u64 entry = CODE(STUB) + 16, sp = STACK + 8 * 2, cfa = STACK + 8 * 16, ra = ret(COMPILED, 2);
        static const u8 call[] = {0x41, 0xff, 0xd2}, mov[] = {0x49, 0xba};
        unwind(m, CODE(COMPILED) + 50, cfa);
        if (far) {
            memcpy(at(m, ra - 13), mov, sizeof(mov));
            memcpy(at(m, ra - 11), &entry, sizeof(entry));
            memcpy(at(m, ra - 3), call, sizeof(call));
        } else {
            *at(m, ra - 5) = 0xe8;
            set32(m, ra - 4, (u32)(entry - ra));
        }
        set32(m, ret(COMPILED, 3) - 4, 1 << 24);
        world_set(m->w, sp + 8 * 3, ret(COMPILED, 3)); /* of a call of something else, which has returned */
        world_set(m->w, cfa - 8 * 2, 0x99);
        world_set(m->w, cfa - 8, ra);
        world_unwind(m->w, entry + 32, sp, 0x77);
        CHECK(java_is(m, 2, XP_JAVA_COMPILED, BLOB(COMPILED), 16, false));
        CHECK(java_is(m, 4, XP_JAVA_COMPILED, BLOB(COMPILED), 40, false));
    }
}

/* The stub behind a method's entry: between its saved rbp and its return address is a word that is -1. */
TEST(hotspot_entry_barrier)
{
    AUTO_MACHINE m = machine_new();
    u64 fp = STACK + 8 * 13;
    unwind(m, CODE(COMPILED) + 50, STACK + 8 * 16);
    world_set(m->w, fp, 0x99);
    world_set(m->w, fp + 8, ~0ull);
    world_set(m->w, fp + 16, ret(COMPILED, 2));
    CHECK_EQ(world_unwind(m->w, CODE(STUB) + 50, STACK, fp), 9);
    CHECK(java_is(m, 0, XP_JAVA_STUB, BLOB(STUB), 0x80 + 50, true));
    CHECK(java_is(m, 2, XP_JAVA_COMPILED, BLOB(COMPILED), 16, false));
    CHECK(callers_are_right(m, 4));
}

/* A stub without a frame, which may have pushed words; rbp is that of a frame further up, which called something else.
 */
TEST(hotspot_stubs_without_frame)
{
    for (u32 words = 0; words < 5; words += 4) {
        AUTO_MACHINE m = machine_new();
        u64 entry = CODE(STUB) + 16, cfa = STACK + 8 * 16, ra = ret(COMPILED, 2), fp = cfa + 8 * 6;
        unwind(m, CODE(COMPILED) + 50, cfa);
        set32(m, ret(STUB, 4) - 4, 1 << 24);
        set32(m, ra - 4, (u32)(entry - ra));
        world_set(m->w, cfa - 8, ra);
        for (u32 i = 0; i < words; i++)
            world_set(m->w, cfa - 16 - 8 * i, 0x40);
        CHECK_EQ(world_unwind(m->w, entry + 32, cfa - 8 - 8 * words, fp), 9);
        CHECK(java_is(m, 2, XP_JAVA_COMPILED, BLOB(COMPILED), 16, false));
        CHECK(callers_are_right(m, 4));
    }
}

/* These jump to what they are for: rbp is that of their caller. */
TEST(hotspot_stubs_that_only_jump)
{
    static const char *const names[] = {"InlineCacheBuffer", "MethodHandlesAdapterBlob"};
    for (u32 i = 0; i < 2; i++) {
        AUTO_MACHINE m = machine_new();
        u64 cfa = STACK + 8 * 16;
        memcpy(at(m, NAMES + 32), names[i], 12);
        unwind(m, CODE(COMPILED) + 50, cfa);
        memcpy(at(m, NAMES + 48), "StubRoutines", 13);
        world_set(m->w, cfa + 8 * 3, m->root); /* no stub above these */
        world_set(m->w, cfa + 8 * 6, 0x77);
        world_set(m->w, cfa + 8 * 7, ret(COMPILED, 3));
        world_set(m->w, cfa - 8, ret(COMPILED, 2));
        world_unwind(m->w, CODE(STUB) + 50, cfa - 8, cfa + 8 * 6);
        CHECK(java_is(m, 0, XP_JAVA_STUB, BLOB(STUB), 0x80 + 50, true));
        CHECK(java_is(m, 2, XP_JAVA_COMPILED, BLOB(COMPILED), 16, false));
    }
}

/* Two words that its caller pushed are popped behind the call; the place is remembered with them. */
TEST(hotspot_caller_has_arguments_on_its_frame)
{
    AUTO_MACHINE m = machine_new();
    u64 fp = STACK + 8 * 8;
    static const u8 pops[] = {0x41, 0x5b, 0x58};
    memcpy(at(m, ret(COMPILED, 2)), pops, sizeof(pops));
    unwind(m, CODE(COMPILED) + 50, STACK + 8 * 16);
    world_set(m->w, fp + 8, ret(COMPILED, 2)); /* the stub's; its caller has four words, and two more */
    world_set(m->w, fp + 8 * 3, ret(COMPILED, 6));
    world_set(m->w, fp + 8 * 5, ret(COMPILED, 6)); /* what would be the return address without them */
    world_set(m->w, fp + 8 * 7, ret(COMPILED, 3));
    world_set(m->w, fp + 8 * 11, ret(COMPILED, 5));
    for (u32 i = 0; i < 2; i++) {
        world_unwind(m->w, CODE(STUB) + 50, STACK, fp);
        CHECK(java_is(m, 2, XP_JAVA_COMPILED, BLOB(COMPILED), 16, false));
        CHECK(java_is(m, 4, XP_JAVA_COMPILED, BLOB(COMPILED), 24, false));
        CHECK(java_is(m, 6, XP_JAVA_COMPILED, BLOB(COMPILED), 40, false));
    }
}

/* The leaf is at such a call, or between the pushes, or between the pops. Other words were return addresses before. */
TEST(hotspot_leaf_has_arguments_on_its_frame)
{
    static const struct {
        s32 from; /* of the bytes, from ip */
        u8 bytes[20];
        u32 words; /* that are on the frame */
    } places[] = {
        {-1, {0x51, 0x41, 0x51, 0xe8, 0, 0, 0, 0, 0x59, 0x59, 0x85, 0xc9}, 1}, /* push rcx; here: push r9; call */
        {-3, {0x51, 0x41, 0x51, 0xe8, 0, 0, 0, 0, 0x59, 0x59, 0x85, 0xc9}, 2}, /* here: call */
        {-5, {0xe8, 0, 0, 0, 0, 0x41, 0x58, 0x41, 0x58, 0x45, 0x85, 0xc0}, 2}, /* here: pop r8; pop r8 */
        {-7, {0xe8, 0, 0, 0, 0, 0x41, 0x58, 0x41, 0x58, 0x45, 0x85, 0xc0}, 1}, /* here: pop r8 */
        {-6, {0xe8, 0, 0, 0, 0, 0x59, 0x59, 0x85, 0xc9}, 1},                   /* here: pop rcx */
        /* of arrays: pop rdx; pop rsi; cmp esi, 0; jne; pop; pop */
        {-5, {0xe8, 0, 0, 0, 0, 0x5a, 0x5e, 0x83, 0xfe, 0, 0x0f, 0x85, 0, 0, 0, 0, 0x5a, 0x5e}, 4},
        {-6, {0xe8, 0, 0, 0, 0, 0x5a, 0x41, 0x58, 0x45, 0x85, 0xc0, 0x0f, 0x85, 0, 0, 0, 0, 0x5a, 0x5e}, 3},
        {0, {0x51, 0xe8, 0, 0, 0, 0, 0x90}, 0}, /* an argument will be pushed, but not popped */
    };
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        AUTO_MACHINE m = machine_new();
        u64 ip = CODE(COMPILED) + 64, frame = STACK + 8 * 16;
        memcpy(at(m, ip + (u64)places[i].from), places[i].bytes, sizeof(places[i].bytes));
        unwind(m, CODE(COMPILED) + 50, frame);
        for (u32 k = 8; k < 19; k++)
            world_set(m->w, STACK + 8 * k, ret(COMPILED, 2));
        CHECK_EQ(world_unwind(m->w, ip, frame - 8ull * places[i].words, 0x99), 7);
        CHECK(callers_are_right(m, 2));
    }
}
