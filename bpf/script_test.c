/* What the unwinder makes of the loops that interpret Ruby, PHP and Perl: a page of memory with the lists of frames of
 * a thread, what they are frames of, and a stack. */
#include "cfi/unwind_fixture.h"

#define TLS        WORLD_MEMORY
#define STATE      (TLS + 0x080)
#define FRAMES     (TLS + 0x100) /* all of them, 8 at most */
#define OTHER      (TLS + 0x500) /* a second list */
#define CODE(n)    (TLS + 0x600 + 0x40 * (n))
#define BODY(n)    (TLS + 0x800 + 0x40 * (n))
#define PC(n)      (TLS + 0xa00 + 0x40 * (n)) /* where frame n is */
#define STACK      (TLS + 0xc00)
#define LOOP_BYTES 64 /* of the frame of a call of the loop */
#define C_BYTES    32 /* of what it calls */
#define SLOT       0x40

struct script {
    struct world *w;
    struct xp_machine machine;
    u64 root, loop, c; /* code: the outermost frame, the loop, and a function that it calls, which calls it */
};

static void script_free(struct script **s)
{
    if (*s)
        world_free(&(*s)->w);
    free(*s);
}
#define AUTO_SCRIPT CLEANUP(script_free) struct script *

/* The stack, leaf first: a call of the loop, a C function, another call of the loop. */
static struct script *script_new(const struct xp_script *as)
{
    struct script *s = calloc(1, sizeof(*s));
    s->w = world_new();
    s->machine = (struct xp_machine){.kind = XP_MACHINE_SCRIPT, .script = *as};
    s->w->space.machine = &s->machine;
    s->w->space.tls = TLS;
    s->w->vma.file.flags = XP_TABLE_OF_LANGUAGE(as->language);
    s->root = world_add(s->w, (struct xp_rule){.kind = XP_CFA_END});
    s->loop = world_add(s->w, (struct xp_rule){.kind = XP_CFA_RSP_LOOP, .cfa_off = LOOP_BYTES});
    s->c = world_add(s->w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = C_BYTES});
    world_set(s->w, TLS + SLOT, STATE);
    world_set(s->w, STACK + LOOP_BYTES - 8, s->c + 2);
    world_set(s->w, STACK + LOOP_BYTES + C_BYTES - 8, s->loop + 2);
    world_set(s->w, STACK + LOOP_BYTES + C_BYTES + LOOP_BYTES - 8, s->root + 2);
    return s;
}

static u32 unwind(struct script *s)
{
    return world_unwind(s->w, s->loop + 2, STACK, 0);
}

static bool frame_is(const struct script *s, u32 word, u64 address, u32 cookie, u32 position)
{
    const u64 *w = s->w->state->words + word;
    return XP_IS_SCRIPT(w[0], s->machine.script.language) && XP_WORD_ADDR(w[0]) == address &&
           XP_WORD_KIND(w[1]) == XP_WORD_MORE && XP_MORE_COOKIE(w[1]) == cookie && XP_MORE_POSITION(w[1]) == position;
}

static bool native_is(const struct script *s, u32 word, u64 code)
{
    u64 w = s->w->state->words[word];
    return XP_WORD_KIND(w) == XP_WORD_CFI && (XP_WORD_OFFSET(w) & ~15ull) == code - WORLD_TEXT;
}

/* ---- Ruby: frames 0 and 1 are run by the inner call, 2 (a method in C) and 3 by the outer one -------------------- */

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

/* ---- PHP: the inner call runs frame 0, which a function in C (1) has called; the outer one that, and frame 2 --------
 */

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

/* ---- Perl: two stackinfos; subs 0 and 1 are run by the inner call, an eval and the program by the outer one -------
 */

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

/* ---- Hostile processes ------------------------------------------------------------------------------------------- */

/* Lists without end, and frames that cannot be read. */
TEST(script_frames_of_hostile_processes)
{
    struct script *(*const languages[])(void) = {ruby_new, php_new, perl_new};
    for (size_t l = 0; l < 3; l++) {
        AUTO_SCRIPT s = languages[l]();
        u64 x = 88172645463325252ull;
        for (int i = 0; i < 20000; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            world_set(s->w, TLS + (x >> 20 & 0x17f) * 8, x & 1 ? FRAMES + 8 * (x >> 40 & 63) : x);
            unwind(s);
            CHECK(s->w->state->sample.nuser <= XP_MAX_USER);
        }
    }
    AUTO_SCRIPT php = php_new();
    world_set(php->w, FRAMES + INFO, 0);
    world_set(php->w, FRAMES + PREV, FRAMES);
    CHECK_EQ(unwind(php), XP_MAX_USER);
    CHECK_EQ(php->w->state->cause, XP_CAUSE_DEPTH);
}
