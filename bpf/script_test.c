/* What the unwinder makes of the loops that interpret scripts, with Ruby as the example. Frames 0 and 1 are run by the
 * inner call of its loop, 2 (a method in C) and 3 by the outer one. */
#include "bpf/script_fixture_test.h"

enum { CFP = 56, PC_AT = 0, ISEQ = 16, EP = 32 };
static const struct xp_script RUBY = {.tls = SLOT,
                                      .found = XP_ROOT_THREAD,
                                      .language = XP_LANGUAGE_RUBY,
                                      .ruby = {.stack = 0,
                                               .stack_size = 8,
                                               .frame = 16,
                                               .frame_pc = PC_AT,
                                               .frame_iseq = ISEQ,
                                               .frame_ep = EP,
                                               .frame_bytes = CFP,
                                               .iseq_body = 16,
                                               .body_code = 8,
                                               .body_words = 16,
                                               .entry_words = 8}};

static void set_ruby_frame(struct script *s, u32 i, bool native, bool finish)
{
    u64 at = FRAMES + (u64)i * CFP, ep = PC(i) + 16;
    world_set(s->w, at + PC_AT, PC(i) + 0x30);
    world_set(s->w, at + ISEQ, native ? 0 : CODE(i));
    world_set(s->w, at + EP, ep);
    world_set(s->w, ep - 16, CODE(i));
    world_set(s->w, ep, (native ? XP_RUBY_CFUNC : 0x11110001) | (finish ? XP_RUBY_FINISH : 0));
    for (u32 k = 0; k < 4; k++)
        world_set(s->w, CODE(i) + 8 + 8 * k, k == 1 ? BODY(i) : 0x111 * (i + 1) + k);
    for (u32 k = 0; k < 4; k++)
        world_set(s->w, BODY(i) + 8 + 8 * k, k ? 0x777 * (i + 1) + k : PC(i));
}

static struct script *ruby_new(void)
{
    struct script *s = script_new(&RUBY);
    world_set(s->w, STATE, FRAMES);
    world_set(s->w, STATE + 8, 4 * CFP / 8);
    world_set(s->w, STATE + 16, FRAMES);
    for (u32 i = 0; i < 4; i++)
        set_ruby_frame(s, i, i == 2, i == 1 || i == 3);
    return s;
}

static bool iseq_is(const struct script *s, u32 word, u32 i)
{
    u64 w = 0x777ull * (i + 1);
    return frame_is(s, word, CODE(i), XP_SCRIPT_COOKIE(PC(i), w + 1, w + 2, w + 3), 0x30);
}

static bool cfunc_is(const struct script *s, u32 word, u32 i)
{
    u64 w = 0x111ull * (i + 1);
    return frame_is(s, word, CODE(i), XP_SCRIPT_COOKIE(0, w, BODY(i), w + 2), XP_RUBY_NATIVE);
}

TEST(ruby_frames_take_the_place_of_the_loop)
{
    AUTO_SCRIPT s = ruby_new();
    CHECK_EQ(unwind(s), 10);
    CHECK(iseq_is(s, 0, 0) && iseq_is(s, 2, 1) && native_is(s, 4, s->c) && cfunc_is(s, 5, 2) && iseq_is(s, 7, 3));
    CHECK(native_is(s, 9, s->root));
    CHECK(s->w->state->words[0] & XP_WORD_EXACT && !(s->w->state->words[2] & XP_WORD_EXACT));
    CHECK_EQ(s->w->state->cause, XP_CAUSE_END);
    CHECK_EQ(s->w->state->sample.flags & XP_SAMPLE_RUNTIME, 0);
}

/* Frame 0 is that of a block in frame 1, which is that of a method, whose entry is the object of frame 3. */
static struct script *ruby_method_new(void)
{
    struct script *s = ruby_new();
    u64 outer = PC(1) + 16;
    world_set(s->w, PC(0) + 8, outer | 1);
    world_set(s->w, PC(0) + 16, XP_RUBY_BLOCK);
    world_set(s->w, outer - 16, CODE(3));
    world_set(s->w, outer, XP_RUBY_METHOD | XP_RUBY_LOCAL | XP_RUBY_FINISH);
    world_set(s->w, CODE(3), XP_RUBY_ENTRY | 0xabc << 16);
    return s;
}

/* The frames of the inner call, by these addresses; they are otherwise what they were. */
static bool methods_are(struct script *s, u64 first, u64 second)
{
    u64 w = 0x777;
    return unwind(s) == 10 && frame_is(s, 0, first, XP_SCRIPT_COOKIE(PC(0), w + 1, w + 2, w + 3), 0x30) &&
           frame_is(s, 2, second, XP_SCRIPT_COOKIE(PC(1), 2 * w + 1, 2 * w + 2, 2 * w + 3), 0x30);
}

TEST(ruby_frames_are_known_by_their_methods)
{
    AUTO_SCRIPT s = ruby_method_new();
    CHECK(methods_are(s, CODE(3), CODE(3)));
    world_set(s->w, PC(0) + 16, XP_RUBY_RESCUE);
    CHECK(methods_are(s, CODE(3), CODE(3)));
    world_set(s->w, CODE(2), XP_RUBY_SVAR); /* in between */
    world_set(s->w, CODE(2) + 8, CODE(3));
    world_set(s->w, PC(1), CODE(2));
    CHECK(methods_are(s, CODE(3), CODE(3)));
    world_set(s->w, CODE(2) + 8, 8);
    CHECK(methods_are(s, CODE(0), CODE(1)));
}

TEST(ruby_frames_without_a_method_are_known_by_their_code)
{
    AUTO_SCRIPT s = ruby_method_new();
    world_set(s->w, PC(0) + 16, 0x77770001); /* VM_FRAME_MAGIC_EVAL */
    CHECK(methods_are(s, CODE(0), CODE(3)));
    world_set(s->w, PC(0) + 16, XP_RUBY_BLOCK);
    world_set(s->w, PC(0) + 8, PC(0) + 16); /* in itself */
    CHECK(methods_are(s, CODE(0), CODE(3)));
    world_set(s->w, PC(0) + 8, 8);
    CHECK(methods_are(s, CODE(0), CODE(3)));
    world_set(s->w, PC(0) + 8, PC(1) + 16);
    world_set(s->w, CODE(3), 0x701a); /* imemo_iseq */
    CHECK(methods_are(s, CODE(0), CODE(1)));
    world_set(s->w, PC(1) + 16, 0x33330001 | XP_RUBY_LOCAL | XP_RUBY_FINISH); /* VM_FRAME_MAGIC_CLASS */
    world_set(s->w, CODE(3), XP_RUBY_ENTRY);
    CHECK(methods_are(s, CODE(0), CODE(1)));
}

/* Code of YJIT: the return address is behind what it has saved. */
TEST(ruby_frames_take_the_place_of_code_that_it_made)
{
    const u64 text = STACK + 0x100, sp = STACK + 0x200;
    AUTO_SCRIPT s = ruby_new();
    u64 made = world_add(s->w, (struct xp_rule){.kind = XP_CFA_NONE}) - WORLD_TEXT + text;
    u64 root = s->root - WORLD_TEXT + text;
    s->w->vma = (struct xp_vma){.start = text, .end = text + 0x1000, .bias = text};
    s->w->vma.file = (struct xp_file){.state = XP_FILE_READY, .uid = 1, .nblocks = 1};
    world_set(s->w, root, 0xfffffffbe8909090); /* "call -5", up to the end */
    world_set(s->w, sp + 24, root + 8);
    CHECK_EQ(world_unwind(s->w, made, sp, 1), 9);
    CHECK(iseq_is(s, 0, 0) && iseq_is(s, 2, 1) && XP_WORD_ADDR(s->w->state->words[8]) == root + 8);
    CHECK_EQ(s->w->state->cause, XP_CAUSE_END);
    s->machine.script.language = XP_LANGUAGE_PERL;
    CHECK_EQ(world_unwind(s->w, made, sp, 1), 1);
}

/* Functions in C in the place of blocks, and what a thread begins with. */
TEST(ruby_frames_that_are_none_of_ruby)
{
    AUTO_SCRIPT s = ruby_new();
    world_set(s->w, FRAMES + PC_AT, 0);
    world_set(s->w, PC(3) + 16, XP_RUBY_DUMMY | XP_RUBY_FINISH);
    CHECK_EQ(unwind(s), 6);
    CHECK(iseq_is(s, 0, 1) && native_is(s, 2, s->c) && cfunc_is(s, 3, 2) && native_is(s, 5, s->root));
}

/* A frame was pushed, but the loop is not called yet: the last frames are left when the stack has ended. */
TEST(script_frames_that_are_left_are_callers_of_the_last_ones)
{
    AUTO_SCRIPT s = ruby_new();
    world_set(s->w, STACK + LOOP_BYTES - 8, s->root + 2);
    CHECK_EQ(unwind(s), 9);
    CHECK(iseq_is(s, 0, 0) && iseq_is(s, 2, 1) && cfunc_is(s, 4, 2) && iseq_is(s, 6, 3) && native_is(s, 8, s->root));
    for (u32 i = 0; i < 4; i++) /* many native frames below the last loop: it stays as it is */
        set_ruby_frame(s, i, false, true);
    u64 sp = STACK + LOOP_BYTES;
    world_set(s->w, sp - 8, s->c + 2);
    s->w->rules[3].cfa_off = 8;
    for (; sp < WORLD_MEMORY + sizeof(s->w->memory) - 16; sp += 8)
        world_set(s->w, sp, s->c + 2);
    world_set(s->w, sp, s->root + 2);
    u32 n = unwind(s);
    CHECK_EQ(n, 2 + (sp - STACK - LOOP_BYTES) / 8 + 2);
    CHECK(iseq_is(s, 0, 0) && native_is(s, 2, s->c) && native_is(s, n - 1, s->root));
}

/* One frame less than calls of the loop: it was popped already. */
TEST(script_loops_without_frames_stay)
{
    AUTO_SCRIPT s = ruby_new();
    world_set(s->w, STATE + 16, FRAMES + 2 * CFP);
    CHECK_EQ(unwind(s), 7);
    CHECK(cfunc_is(s, 0, 2) && iseq_is(s, 2, 3) && native_is(s, 4, s->c) && native_is(s, 5, s->loop));
}

TEST(scripts_that_are_not_known_are_sought)
{
    AUTO_SCRIPT s = ruby_new();
    s->w->space.machine = NULL;
    CHECK_EQ(unwind(s), 4);
    CHECK(s->w->state->sample.flags & XP_SAMPLE_RUNTIME);
}

/* A process with two interpreters, of which one is known. */
TEST(script_frames_of_another_language)
{
    for (u32 language = XP_LANGUAGE_PYTHON; language <= XP_LANGUAGE_PERL; language++) {
        AUTO_SCRIPT s = ruby_new();
        s->w->vma.file.flags = XP_TABLE_OF_LANGUAGE(language);
        CHECK_EQ(unwind(s), language == XP_LANGUAGE_RUBY ? 10 : 4);
    }
}

TEST(script_states_are_found_in_three_ways)
{
    AUTO_SCRIPT s = ruby_new();
    struct xp_script *p = &s->machine.script;
    p->slot = 0x19; /* in an array that the thread points to */
    world_set(s->w, TLS + SLOT, TLS + 0x08);
    world_set(s->w, TLS + 0x20, STATE);
    CHECK_EQ(unwind(s), 10);
    p->found = XP_ROOT_POINTER;
    p->root = TLS + 0x20;
    CHECK_EQ(unwind(s), 10);
    p->found = XP_ROOT_AT;
    p->root = STATE;
    CHECK_EQ(unwind(s), 10);
    p->root = 8;
    CHECK_EQ(unwind(s), 4);
}

TEST(script_frames_of_hostile_processes)
{
    AUTO_SCRIPT s = ruby_new();
    CHECK(hostile_stacks_are_bounded(s));
}
