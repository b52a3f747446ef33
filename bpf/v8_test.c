/* What the unwinder makes of frames of JavaScript. */
#include "bpf/v8_frames_test.h"

/* ---- Frames of JavaScript */

TEST(javascript_takes_the_place_of_generated_code)
{
    AUTO_JS j = js_new();
    add_frame(j, 0, 10, GENERATED + 8);
    add_frame(j, 1, 20, GENERATED + 16);
    add_frame(j, 2, 30, j->root + 2);
    CHECK_EQ(js_unwind(j, GENERATED), 7);
    CHECK_EQ(j->w->state->cause, XP_CAUSE_END);
    CHECK(compiled_is(j, 0, 0, GENERATED) && compiled_is(j, 2, 1, GENERATED + 8) &&
          compiled_is(j, 4, 2, GENERATED + 16) && native_is(j, 6, j->root + 2));
    CHECK_EQ(j->w->state->sample.flags & XP_SAMPLE_RUNTIME, 0);
}

TEST(javascript_takes_the_place_of_builtins)
{
    AUTO_JS j = js_new();
    add_frame(j, 0, 10, BUILTIN + 2);
    add_frame(j, 1, 20, BUILTIN + 2);
    add_frame(j, 2, 30, IN_NODE(j->root) + 2);
    CHECK_EQ(js_unwind(j, BUILTIN), 7);
    CHECK(js_is(j, 0, 0, 10) && js_is(j, 2, 1, 20) && js_is(j, 4, 2, 30));
    CHECK(native_is(j, 6, IN_NODE(j->root) + 2));
}

/* Code of other files, and code with rows, may keep frame pointers, too. */
TEST(javascript_is_in_no_other_code)
{
    AUTO_JS j = one_frame();
    j->vmas[PLAIN].file.flags = XP_TABLE_FP_OK;
    CHECK(stays_native(j, j->bare));
    AUTO_JS k = js_new();
    k->n = 1; /* the callee has a frame of 16 bytes below it */
    add_frame(k, 1, 10, k->root + 2);
    world_set(k->w, STACK + 8, GENERATED + 2);
    CHECK_EQ(world_unwind(k->w, IN_NODE(k->c), STACK, FRAME(1)), 4);
    CHECK(native_is(k, 0, IN_NODE(k->c)) && compiled_is(k, 1, 1, GENERATED + 2) && native_is(k, 3, k->root + 2));
}

TEST(only_the_leaf_is_where_the_thread_was_interrupted)
{
    AUTO_JS j = js_new();
    add_frame(j, 0, 10, BUILTIN + 2);
    add_frame(j, 1, 20, j->root + 2);
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 0, 0, 10) && js_is(j, 2, 1, 20) && is_exact(j, 0) && !is_exact(j, 1) && !is_exact(j, 2));
    world_set(j->w, STACK + 8, BUILTIN + 2);
    js_unwind(j, j->c);
    CHECK(js_is(j, 1, 0, 10) && is_exact(j, 0) && !is_exact(j, 1));
}

TEST(frames_of_javascript_that_were_met_before_are_no_news)
{
    AUTO_JS j = one_frame();
    js_unwind(j, BUILTIN);
    CHECK(j->w->state->runtime & XP_RUNTIME_NEWS);
    js_unwind(j, BUILTIN);
    CHECK(!(j->w->state->runtime & XP_RUNTIME_NEWS));
    world_set(j->w, FRAME(0) - 40, POSITION(11));
    js_unwind(j, BUILTIN);
    CHECK(j->w->state->runtime & XP_RUNTIME_NEWS);
}

/* Another function may be where one was: its cookie is another one. */
TEST(functions_that_took_the_place_of_others)
{
    for (u32 i = 0; i < 3; i++) {
        AUTO_JS j = one_frame();
        js_unwind(j, BUILTIN);
        u32 before = XP_MORE_COOKIE(word(j, 1));
        world_set(j->w, SHARED(1) + V8.shared_script + 8 * i, 0x7777000000000000ull >> (i == 1 ? 24 : 0));
        js_unwind(j, BUILTIN);
        CHECK(js_is(j, 0, 1, 10) && before && before != XP_MORE_COOKIE(word(j, 1)));
    }
    AUTO_JS j = one_frame(); /* what it is made of cannot be read */
    u64 end = WORLD_MEMORY + 0x1000 - 16;
    world_set(j->w, FUNCTION(1) + V8.function_shared, OBJECT(end));
    js_unwind(j, BUILTIN);
    CHECK(XP_WORD_ADDR(word(j, 0)) == end && XP_MORE_WORD(0, 10) == word(j, 1));
}

/* ---- Frames of V8's own */

TEST(frames_without_a_function_stay_native)
{
    static const u64 bad[] = {0, NUMBER(7), 2, 3, 7};
    for (u32 i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        AUTO_JS j = one_frame();
        world_set(j->w, FRAME(0) - 8, bad[i]); /* in place of the context, they have a number */
        CHECK(stays_native(j, GENERATED));
        world_set(j->w, FRAME(0) - 8, OBJECT(CONTEXT));
        world_set(j->w, FRAME(0) - 16, bad[i]);
        CHECK(stays_native(j, GENERATED));
        world_set(j->w, FRAME(0) - 16, OBJECT(FUNCTION(1)));
        world_set(j->w, FUNCTION(1) + V8.function_shared, bad[i]);
        CHECK(stays_native(j, GENERATED));
    }
    AUTO_JS j = one_frame();
    world_set(j->w, FRAME(0) - 16, OBJECT(1ull << 50)); /* it cannot be read */
    CHECK(stays_native(j, GENERATED));
}

/* Below the stack pointer is what was there before. */
TEST(frames_that_are_still_set_up_have_no_function_yet)
{
    AUTO_JS j = one_frame();
    for (u64 pushed = 0; pushed <= 40; pushed += 8) {
        world_unwind(j->w, BUILTIN, FRAME(0) - pushed, FRAME(0));
        CHECK_EQ(frame_is(j, 0, pushed < 40 ? XP_V8_PLAIN : XP_V8_BYTECODE, 1, word(j, 1)), pushed >= 16);
    }
}

/* They may be between frames of JavaScript: calls of C++ and back. */
TEST(native_frames_between_those_of_javascript)
{
    AUTO_JS j = js_new();
    add_frame(j, 0, 10, BUILTIN + 2);
    add_frame(j, 1, 20, BUILTIN + 2);
    add_frame(j, 2, 30, j->root + 2);
    world_set(j->w, FRAME(1) - 8, NUMBER(1));
    CHECK_EQ(js_unwind(j, BUILTIN), 6);
    CHECK(js_is(j, 0, 0, 10) && native_is(j, 2, BUILTIN + 2) && js_is(j, 3, 2, 30) && native_is(j, 5, j->root + 2));
}

/* A trampoline was unwound by what it does, not by frame pointer: whatever that leads to, it is no frame of its own. */
TEST(frames_that_were_not_unwound_by_frame_pointer_stay_native)
{
    static const u8 returns[8] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
    AUTO_JS j = one_frame();
    u64 code;
    memcpy(&code, returns, sizeof(code));
    world_set(j->w, GENERATED + 8, code);
    world_set(j->w, STACK + 8, GENERATED + 8);
    world_set(j->w, STACK + 24, j->root + 2);
    world_set(j->w, FRAME(0) + 8, 0); /* no return address */
    CHECK_EQ(js_unwind(j, j->c), 3);
    CHECK(native_is(j, 0, j->c) && native_is(j, 1, GENERATED + 8) && native_is(j, 2, j->root + 2));
}

/* ---- Positions */

TEST(positions_of_the_leaf_are_in_registers)
{
    AUTO_JS j = js_new();
    add_frame(j, 0, 10, BUILTIN + 2);
    add_frame(j, 1, 20, j->root + 2);
    j->w->regs.r[9] = V8.array_data - XP_V8_TAG + 77;
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 0, 0, 10) && js_is(j, 2, 1, 20)); /* they have something else */
    j->w->regs.r[12] = OBJECT(ARRAY(0));
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 0, 0, 77) && js_is(j, 2, 1, 20));
    j->w->regs.r[12] = OBJECT(ARRAY(1)); /* of a caller */
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 0, 0, 10) && js_is(j, 2, 1, 20));
    j->w->regs.r[12] = OBJECT(ARRAY(0));
    j->w->regs.r[9] = 1ull << 40;
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 0, 0, NOT_A_POSITION));
}

TEST(positions_that_are_none)
{
    AUTO_JS j = one_frame();
    world_set(j->w, FRAME(0) - 40, POSITION(10) | 1);
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 0, 1, NOT_A_POSITION));
    world_set(j->w, FRAME(0) - 40, NUMBER(V8.array_data - XP_V8_TAG - 1)); /* in front of the bytecode */
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 0, 1, NOT_A_POSITION));
    world_set(j->w, FRAME(0) - 40, POSITION(0));
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 0, 1, 0));
    world_set(j->w, MAP_OF_ARRAYS + 8, NUMBER(V8.array_type + 1)); /* in another process, say */
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 0, 1, NOT_A_POSITION));
    j->machine.v8.array_type = 0; /* its type is not known */
    world_set(j->w, MAP_OF_ARRAYS + 8, 0);
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 0, 1, NOT_A_POSITION));
}

TEST(code_that_is_no_bytecode_has_no_position)
{
    AUTO_JS j = js_new();
    add_frame(j, 0, 10, BUILTIN + 2);
    add_frame(j, 1, 20, BUILTIN + 2);
    add_frame(j, 2, 30, j->root + 2);
    world_set(j->w, FRAME(0) - 32, NUMBER(5));
    world_set(j->w, ARRAY(2), OBJECT(MAP_OF_OTHERS));
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 0, 0, NOT_A_POSITION) && js_is(j, 2, 1, 20) && js_is(j, 4, 2, NOT_A_POSITION));
    world_set(j->w, ARRAY(1), OBJECT(1ull << 50)); /* its map cannot be read */
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 2, 1, NOT_A_POSITION));
    world_set(j->w, FRAME(1) - 32, OBJECT(1ull << 50));
    js_unwind(j, BUILTIN);
    CHECK(js_is(j, 2, 1, NOT_A_POSITION));
}

/* ---- Processes of which nothing is known */

static bool is_sought(struct js *j, u64 ip)
{
    j->w->space.machine = NULL;
    js_unwind(j, ip);
    return j->w->state->sample.flags & XP_SAMPLE_RUNTIME;
}

TEST(v8_that_is_not_known_is_sought)
{
    AUTO_JS j = one_frame();
    CHECK(is_sought(j, IN_NODE(j->bare)) && stays_native(j, IN_NODE(j->bare)));
    CHECK(!is_sought(j, GENERATED) && stays_native(j, GENERATED)); /* anybody may generate code */
    world_set(j->w, FRAME(0) + 8, IN_NODE(j->root) + 2);
    CHECK(is_sought(j, GENERATED)); /* the file that has made it comes later */
    world_set(j->w, FRAME(0) + 8, j->root + 2);
    world_set(j->w, STACK + 8, j->root + 2);
    CHECK(!is_sought(j, IN_NODE(j->c))); /* no code of V8 */
}

TEST(other_runtimes_generate_code_as_well)
{
    AUTO_JS j = one_frame();
    j->machine.kind = XP_MACHINE_PYTHON;
    CHECK(stays_native(j, GENERATED) && stays_native(j, IN_NODE(j->bare)));
    CHECK_EQ(j->w->state->sample.flags & XP_SAMPLE_RUNTIME, 0);
    world_set(j->w, FRAME(0) + 8, IN_NODE(j->root) + 2);
    js_unwind(j, GENERATED);
    CHECK_EQ(j->w->state->sample.flags & XP_SAMPLE_RUNTIME, 0);
}

/* ---- Hostile processes */

/* A frame that is its own caller's: the stack is full at last, of whole frames. */
TEST(stacks_full_of_javascript_have_whole_frames)
{
    for (u32 odd = 0; odd < 2; odd++) {
        AUTO_JS j = one_frame();
        world_set(j->w, FRAME(0), FRAME(0));
        world_set(j->w, FRAME(0) + 8, BUILTIN + 2);
        world_set(j->w, STACK + 8, BUILTIN + 2);
        CHECK_EQ(js_unwind(j, IN_NODE(odd ? j->c : j->bare)), XP_MAX_USER);
        CHECK_EQ(j->w->state->cause, XP_CAUSE_DEPTH);
        for (u32 i = odd; i < XP_MAX_USER - 2; i += 2)
            CHECK(js_is(j, i, 1, 10));
        for (u32 i = XP_MAX_USER - 2 + odd; i < XP_MAX_USER; i++)
            CHECK(native_is(j, i, BUILTIN + 2));
    }
}

TEST(javascript_of_hostile_processes)
{
    AUTO_JS j = js_new();
    for (u32 i = 0; i < 8; i++)
        add_frame(j, i & 3, i, i == 7 ? j->root + 2 : BUILTIN + 2);
    u64 x = 88172645463325252ull;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        world_set(j->w, WORLD_MEMORY + (x >> 20 & 0x1ff) * 8, x & 1 ? FRAME(x >> 40 & 7) + (x >> 50 & 1) : x);
        j->w->regs.r[12] = OBJECT(ARRAY(x >> 30 & 3));
        js_unwind(j, BUILTIN);
        CHECK(j->w->state->sample.nuser <= XP_MAX_USER);
    }
}
