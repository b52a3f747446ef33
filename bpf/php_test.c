/* What the unwinder makes of the loop that interprets PHP. The inner call of it runs frame 0, which a function in C (1)
 * has called; the outer one runs that, and frame 2. */
#include "bpf/script_fixture_test.h"

#define FUNCTION(n) BODY(n)
enum { CALL = 0x60, FUNC = 24, INFO = 40, PREV = 48 };
static const struct xp_script PHP = {.root = STATE,
                                     .found = XP_ROOT_AT,
                                     .language = XP_LANGUAGE_PHP,
                                     .php = {.frame = 16,
                                             .call_opline = 0,
                                             .call_func = FUNC,
                                             .call_info = INFO,
                                             .call_prev = PREV,
                                             .op_line = 24,
                                             .op_bytes = 32,
                                             .function_type = 0,
                                             .function_words = 8,
                                             .function_file = 32,
                                             .function_ops = 40,
                                             .function_nops = 48}};

static void set_call(struct script *s, u32 i, u8 type, bool top)
{
    u64 at = FRAMES + (u64)i * CALL;
    world_set(s->w, at, PC(i));
    world_set(s->w, PC(i) + 24, 100 + i); /* the first instruction's line, and the second one's */
    world_set(s->w, PC(i) + 56, 200 + i);
    world_set(s->w, at + FUNC, CODE(i));
    world_set(s->w, at + INFO, top ? XP_PHP_TOP : 0);
    world_set(s->w, at + PREV, i < 2 ? at + CALL : 0);
    world_set(s->w, CODE(i), type);
    for (u32 k = 0; k < 4; k++)
        world_set(s->w, CODE(i) + 8 + 8 * k, k ? 0x321 * (i + 1) + k : FUNCTION(i));
    world_set(s->w, FUNCTION(i) + XP_PHP_LENGTH, 5 + i); /* its name */
    world_set(s->w, FUNCTION(i) + XP_PHP_TEXT, 0x444 * (i + 1));
    world_set(s->w, CODE(i) + 40, PC(i));
    world_set(s->w, CODE(i) + 48, 2);
}

static struct script *php_new(void)
{
    struct script *s = script_new(&PHP);
    world_set(s->w, STATE + 16, FRAMES);
    for (u32 i = 0; i < 3; i++)
        set_call(s, i, i == 1 ? XP_PHP_INTERNAL : 2, true);
    return s;
}

static bool call_is(const struct script *s, u32 word, u32 i, u32 line)
{
    u64 w = 0x321ull * (i + 1), text[2] = {5 + i, 0x444ull * (i + 1)};
    if (!line)
        return frame_is(s, word, CODE(i), XP_SCRIPT_COOKIE(FUNCTION(i), w + 1, w + 2, 0), 0);
    u32 cookie = XP_SCRIPT_COOKIE(XP_PHP_NAME(FUNCTION(i), text), w + 1, w + 2, XP_PHP_FILE(w + 3, PC(i)));
    return frame_is(s, word, CODE(i), cookie, line | XP_PHP_MAIN);
}

TEST(php_frames_take_the_place_of_the_loop)
{
    AUTO_SCRIPT s = php_new();
    CHECK_EQ(unwind(s), 8);
    CHECK(call_is(s, 0, 0, 100) && native_is(s, 2, s->c) && call_is(s, 3, 1, 0) && call_is(s, 5, 2, 102));
    CHECK(native_is(s, 7, s->root));
}

/* Only the innermost frame's, if it is interrupted itself, and only if it is one of the function's. */
TEST(php_instruction_in_a_register)
{
    AUTO_SCRIPT s = php_new();
    s->w->regs.r[15] = PC(0) + 32;
    CHECK_EQ(unwind(s), 8);
    CHECK(call_is(s, 0, 0, 200) && call_is(s, 5, 2, 102));
    s->w->regs.r[15] = PC(0) + 64;
    CHECK_EQ(unwind(s), 8);
    CHECK(call_is(s, 0, 0, 100));
    s->w->regs.r[15] = PC(0) + 32;
    world_set(s->w, STACK - 8, s->loop + 2);
    CHECK_EQ(world_unwind(s->w, s->c + 2, STACK - C_BYTES, 0), 9);
    CHECK(call_is(s, 1, 0, 100));
}

TEST(php_frames_of_hostile_processes)
{
    AUTO_SCRIPT s = php_new();
    AUTO_SCRIPT endless = php_new();
    CHECK(hostile_stacks_are_bounded(s));
    world_set(endless->w, FRAMES + INFO, 0);
    world_set(endless->w, FRAMES + PREV, FRAMES);
    CHECK_EQ(unwind(endless), XP_MAX_USER);
    CHECK_EQ(endless->w->state->cause, XP_CAUSE_DEPTH);
}
