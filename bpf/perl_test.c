/* What the unwinder makes of the loop that interprets Perl. There are two stackinfos: subs 0 and 1 are run by the inner
 * call, an eval and the program by the outer one. */
#include "bpf/script_fixture_test.h"

enum { CONTEXT = 0x40, COP_AT = 8, RETOP = 16, SUB = 24, EVAL = 32, T_NULL = 0, T_BLOCK = 2, T_SUB = 9, T_EVAL = 11 };
#define COP(i) PC(i)
static const struct xp_script PERL = {.tls = SLOT,
                                      .found = XP_ROOT_THREAD,
                                      .language = XP_LANGUAGE_PERL,
                                      .perl = {.stackinfo = 0,
                                               .cop = 8,
                                               .main = 16,
                                               .info_contexts = 0,
                                               .info_prev = 8,
                                               .info_index = 16,
                                               .context_bytes = CONTEXT,
                                               .context_cop = COP_AT,
                                               .context_sub_return = RETOP,
                                               .context_sub = SUB,
                                               .context_eval = EVAL,
                                               .subs = 1 << T_SUB,
                                               .evals = 1 << T_EVAL,
                                               .cv_body = 0,
                                               .body_words = 8,
                                               .cop_words = 0,
                                               .pad_id = 0x18}};

static void set_context(struct script *s, u64 at, u8 type, u32 sub, u64 cop, u64 returns_to)
{
    world_set(s->w, at, type);
    world_set(s->w, at + COP_AT, cop);
    world_set(s->w, at + RETOP, returns_to);
    world_set(s->w, at + (type == T_SUB ? SUB : EVAL), sub ? CODE(sub) : 0);
}

static struct script *perl_new(void)
{
    struct script *s = script_new(&PERL);
    const u64 inner = TLS + 0x480, outer = TLS + 0x4a0;
    world_set(s->w, STATE, inner);
    world_set(s->w, STATE + 8, COP(1));
    world_set(s->w, STATE + 16, CODE(4));
    world_set(s->w, inner, FRAMES);
    world_set(s->w, inner + 8, outer);
    world_set(s->w, inner + 16, 2);
    world_set(s->w, outer, OTHER);
    world_set(s->w, outer + 8, 0);
    world_set(s->w, outer + 16, 1);
    set_context(s, FRAMES + 2 * CONTEXT, T_SUB, 1, COP(2), 1);
    set_context(s, FRAMES + 1 * CONTEXT, T_EVAL, 0, COP(6), 0); /* a block, not a frame */
    set_context(s, FRAMES, T_SUB, 2, COP(3), 0);
    set_context(s, OTHER + CONTEXT, T_EVAL, 3, COP(4), 0);
    set_context(s, OTHER, T_BLOCK, 0, COP(5), 0);
    for (u32 i = 1; i <= 4; i++) {
        world_set(s->w, CODE(i), BODY(i));
        world_set(s->w, COP(i) + 8, 200 | (u64)(100 + i) << 32); /* type and line */
        for (u32 k = 0; k < XP_PERL_WORDS; k++)
            world_set(s->w, BODY(i) + 8 + 8 * k, k == XP_PERL_WORDS - 1 ? CODE(i) + 0x10 : 0x555 * i + k);
        world_set(s->w, CODE(i) + 0x28, 0x1234567800000000ull | (0x900 + i));
    }
    return s;
}

static bool sub_is(const struct script *s, u32 word, u32 i, u64 cop)
{
    u64 w[4] = {0x555ull * i, 0, 0, 0x555ull * i + 3};
    return frame_is(s, word, CODE(i), XP_PERL_COOKIE(w, 0x900 + i), XP_PERL_AT((cop - CODE(i)) / 8));
}

TEST(perl_frames_take_the_place_of_the_loop)
{
    AUTO_SCRIPT s = perl_new();
    CHECK_EQ(unwind(s), 10);
    CHECK(sub_is(s, 0, 1, COP(1)) && sub_is(s, 2, 2, COP(2)) && native_is(s, 4, s->c));
    CHECK(sub_is(s, 5, 3, COP(3)) && sub_is(s, 7, 4, COP(4)) && native_is(s, 9, s->root));
}

/* A COP that is too far from its CV, or none, has its line in the frame. */
TEST(perl_places_that_do_not_fit)
{
    AUTO_SCRIPT s = perl_new();
    u64 *position = &s->w->state->words[1];
    world_set(s->w, COP(1) + 8, 101ull << 32);
    CHECK_EQ(unwind(s), 10);
    CHECK_EQ(XP_MORE_POSITION(*position), XP_PERL_LINE(101));
    world_set(s->w, COP(1), 200); /* it was optimised away */
    CHECK_EQ(unwind(s), 10);
    CHECK(sub_is(s, 0, 1, COP(1)));
    world_set(s->w, COP(1), 0);
    world_set(s->w, COP(1) + 8, 200 | 102ull << 32);
    for (u64 far = 1ull << 33; far <= 1ull << 34; far <<= 1) { /* 8 GB either way */
        set_context(s, FRAMES + 2 * CONTEXT, T_SUB, 1, COP(2), 1);
        world_set(s->w, FRAMES + 2 * CONTEXT + SUB, COP(1) - far);
        CHECK_EQ(unwind(s), 10);
        CHECK_EQ(XP_MORE_POSITION(*position), XP_PERL_LINE(102));
        world_set(s->w, FRAMES + 2 * CONTEXT + SUB, COP(1) - far + 8);
        CHECK_EQ(unwind(s), 10);
        CHECK_EQ(XP_MORE_POSITION(*position), far > 1ull << 33 ? XP_PERL_LINE(102) : XP_PERL_AT((1 << 30) - 1));
    }
    set_context(s, FRAMES + 2 * CONTEXT, T_SUB, 1, COP(2), 1);
    world_set(s->w, STATE + 8, 8); /* cannot be read */
    CHECK_EQ(unwind(s), 10);
    CHECK_EQ(XP_MORE_POSITION(*position), 0);
    world_set(s->w, CODE(1) - 64, 200);
    world_set(s->w, STATE + 8, CODE(1) - 64);
    CHECK_EQ(unwind(s), 10);
    CHECK_EQ((s32)XP_MORE_POSITION(*position), -16);
}

TEST(perl_subs_that_cannot_be_told_apart)
{
    AUTO_SCRIPT s = perl_new();
    world_set(s->w, BODY(1) + 8 * XP_PERL_WORDS, 8); /* its pads cannot be read */
    CHECK_EQ(unwind(s), 10);
    CHECK(frame_is(s, 0, CODE(1), 0, XP_PERL_AT((COP(1) - CODE(1)) / 8)));
}

/* Code of the sub around it, that is run by a loop of its own: a block of sort, and one in a pattern. */
TEST(perl_blocks_with_a_loop_of_their_own)
{
    AUTO_SCRIPT s = perl_new();
    set_context(s, FRAMES, T_NULL, 0, COP(6), 0);
    CHECK_EQ(unwind(s), 8);
    CHECK(sub_is(s, 0, 1, COP(1)) && native_is(s, 2, s->c) && sub_is(s, 3, 3, COP(2)) && sub_is(s, 5, 4, COP(4)));
    set_context(s, FRAMES + 2 * CONTEXT, T_SUB, 1, COP(2), 0);
    world_set(s->w, FRAMES + 2 * CONTEXT, T_SUB | XP_PERL_FAKE);
    set_context(s, FRAMES, T_SUB, 2, COP(3), 0);
    set_context(s, OTHER + CONTEXT, T_BLOCK, 0, COP(4), 0);
    CHECK_EQ(unwind(s), 7);
    CHECK(native_is(s, 0, s->loop) && native_is(s, 1, s->c) && sub_is(s, 2, 2, COP(1)) && sub_is(s, 4, 4, COP(3)));
}

/* Threads, and what runs before or after the program, begin with something else than its block. */
TEST(perl_without_its_program)
{
    AUTO_SCRIPT s = perl_new();
    set_context(s, OTHER, T_EVAL, 0, COP(5), 0);
    CHECK_EQ(unwind(s), 8);
    CHECK(sub_is(s, 5, 3, COP(3)) && native_is(s, 7, s->root));
    world_set(s->w, TLS + 0x4a0 + 16, ~0ull); /* no contexts at all */
    CHECK_EQ(unwind(s), 7);
    CHECK(native_is(s, 5, s->loop));
}

TEST(perl_frames_of_hostile_processes)
{
    AUTO_SCRIPT s = perl_new();
    CHECK(hostile_stacks_are_bounded(s));
}
