/* What the unwinder makes of the loop that interprets Python: a page of memory with a thread's state, its frames, code
 * objects, and a stack. */
#include "cfi/unwind_fixture.h"

#define TLS        WORLD_MEMORY
#define STATE      (TLS + 0x100)
#define FRAME(n)   (TLS + 0x200 + 0x80 * (n)) /* on the heap */
#define FRAMES     8
#define CODE(n)    (TLS + 0x618 + 0x40 * (n))
#define TEXT(n)    (TLS + 0x900 + 0x40 * (n)) /* a file name, from its length on */
#define STACK      (TLS + 0xa00)
#define LOOP_BYTES 64 /* of the frame of a call of the loop */
#define C_BYTES    32 /* of what it calls */

enum { SLOT = 0x40, THREAD = 8, CURRENT = 16, CURRENT_CALL = 24, BACK = 8, POSITION = 56, OWNER = 70, START = 32 };

static const struct xp_python SHIM = {.tls = SLOT,
                                      .shape = XP_PYTHON_SHIM,
                                      .shim = 3,
                                      .names = 4,
                                      .tag_bits = 2,
                                      .state_thread = THREAD,
                                      .state_frame = CURRENT,
                                      .frame_back = BACK,
                                      .frame_position = POSITION,
                                      .frame_owner = OWNER,
                                      .code_start = START};

struct python {
    struct world *w;
    struct xp_machine machine;
    u64 root, loop, c; /* code: the outermost frame, the loop, and a function that it calls, which calls it */
    u32 n;             /* frames of Python so far */
    u64 sp;            /* where the next frame's caller begins */
    u64 calls[3];      /* where the objects of calls are */
};

static void python_free(struct python **p)
{
    if (*p)
        world_free(&(*p)->w);
    free(*p);
}
#define AUTO_PYTHON CLEANUP(python_free) struct python *

static u8 *byte_at(struct python *p, u64 at)
{
    return (u8 *)p->w->memory + (at - WORLD_MEMORY);
}

static struct python *python_new(const struct xp_python *layout)
{
    struct python *p = calloc(1, sizeof(*p));
    p->w = world_new();
    p->machine = (struct xp_machine){.kind = XP_MACHINE_PYTHON, .python = *layout};
    p->w->space.machine = &p->machine;
    p->w->space.tls = TLS;
    p->root = world_add(p->w, (struct xp_rule){.kind = XP_CFA_END});
    p->loop = world_add(p->w, (struct xp_rule){.kind = XP_CFA_RSP_LOOP, .cfa_off = LOOP_BYTES});
    p->c = world_add(p->w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = C_BYTES});
    world_set(p->w, TLS + SLOT, STATE);
    world_set(p->w, STATE + THREAD, TLS);
    p->sp = STACK;
    return p;
}

/* Frame i of Python, which is at `at`, was called by the one at `back`, and has this owner. */
static void set_frame(struct python *p, u32 i, u64 at, u64 back, u8 owner)
{
    const struct xp_python *l = &p->machine.python;
    world_set(p->w, at + l->frame_code, CODE(i) | (l->tag_bits ? 1 : 0));
    world_set(p->w, at + l->frame_back, back);
    world_set(p->w, at + POSITION, l->code_start ? CODE(i) + l->code_start + 10 + i : 10 + i);
    *byte_at(p, at + l->frame_owner) = owner;
    for (u32 k = 0; k < 4; k++)
        world_set(p->w, CODE(i) + 8 * k, k ? 0x1111 * (i + 1) + k : TEXT(i) - l->text);
    world_set(p->w, CODE(i) - 24, (i + 7ull) << 32); /* its version */
    world_set(p->w, TEXT(i), 20 + i);
    world_set(p->w, TEXT(i) + 16, 1 << 2 | 1 << 6);
    world_set(p->w, TEXT(i) + 40, 0x3333 * (i + 1));
}

/* The stack: a call of the loop, innermost first; below it (unless it is the leaf) a C function that it called. */
static void call_loop(struct python *p, u32 number, u64 returns_to)
{
    p->calls[number] = p->sp + 8;
    world_set(p->w, p->sp + LOOP_BYTES - 8, returns_to);
    p->sp += LOOP_BYTES;
}

static void call_c(struct python *p)
{
    world_set(p->w, p->sp + C_BYTES - 8, p->loop + 2);
    p->sp += C_BYTES;
}

static void two_calls(struct python *p)
{
    call_loop(p, 0, p->c + 2);
    call_c(p);
    call_loop(p, 1, p->root + 2);
}

static bool python_is(const struct python *p, u32 word, u32 i, bool exact)
{
    const u64 *w = p->w->state->words + word;
    const struct xp_python *l = &p->machine.python;
    u64 names[4] = {TEXT(i) - l->text}, mark = i + 7, head[3], tail[2];
    for (u32 k = 1; k < l->names; k++)
        names[k] = 0x1111 * (i + 1) + k;
    world_read(p->w, head, sizeof(head), TEXT(i));
    world_read(p->w, tail, sizeof(tail), TEXT(i) + XP_PYTHON_TAIL(head));
    if (l->text)
        mark = XP_PYTHON_MARK(tail);
    return XP_WORD_KIND(w[0]) == XP_WORD_SCRIPT && XP_WORD_ADDR(w[0]) == CODE(i) && !(w[0] & XP_WORD_EXACT) == !exact &&
           XP_WORD_KIND(w[1]) == XP_WORD_MORE && XP_MORE_POSITION(w[1]) == 10 + i &&
           XP_MORE_COOKIE(w[1]) == XP_PYTHON_COOKIE(names, mark);
}

static bool native_is(const struct python *p, u32 word, u64 code)
{
    u64 w = p->w->state->words[word];
    return XP_WORD_KIND(w) == XP_WORD_CFI && (XP_WORD_OFFSET(w) & ~15ull) == code - WORLD_TEXT;
}

/* Frames 0 and 1 are run by the inner call, frame 2 by the outer one. Each call's frames end at its object. */
static void three_frames(struct python *p)
{
    world_set(p->w, STATE + CURRENT, FRAME(0));
    set_frame(p, 0, FRAME(0), FRAME(1), 0);
    set_frame(p, 1, FRAME(1), p->calls[0], 0);
    world_set(p->w, p->calls[0] + BACK, FRAME(2));
    set_frame(p, 2, FRAME(2), p->calls[1], 1);
}

/* An object on the stack fits into the frame of its call only if that is large enough: where its fields are. */
static struct python *shim_new(void)
{
    struct xp_python l = SHIM;
    l.frame_owner = 40; /* not 70: calls are small here */
    l.frame_position = POSITION;
    struct python *p = python_new(&l);
    two_calls(p);
    three_frames(p);
    *byte_at(p, p->calls[0] + 40) = 3;
    *byte_at(p, p->calls[1] + 40) = 4;
    world_set(p->w, p->calls[1] + BACK, 0);
    return p;
}

static bool all_are_right(const struct python *p, bool exact)
{
    const struct xp_state *s = p->w->state;
    return s->sample.nuser == 8 && s->cause == XP_CAUSE_END && python_is(p, 0, 0, exact) && python_is(p, 2, 1, false) &&
           native_is(p, 4, p->c) && python_is(p, 5, 2, false) && native_is(p, 7, p->root);
}

TEST(python_frames_take_the_place_of_the_loop)
{
    AUTO_PYTHON p = shim_new();
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK(all_are_right(p, true));
    CHECK_EQ(p->w->state->sample.flags & XP_SAMPLE_RUNTIME, 0);
}

/* The body of a module runs once: its texts are sent when it is met first. Those of functions are not. */
TEST(python_code_that_may_be_gone_soon)
{
    AUTO_PYTHON p = shim_new();
    p->machine.python.code_flags = 0x38;
    for (u32 i = 0; i < 3; i++)
        world_set(p->w, CODE(i) + 0x38, i == 1 ? 0x40 : 0x43);
    world_unwind(p->w, p->loop + 2, STACK, 0);
    const struct xp_state *s = p->w->state;
    CHECK_EQ(s->codes.n, 1);
    CHECK_EQ(XP_WORD_ADDR(s->codes.at[0].word), CODE(1));
    CHECK_EQ(XP_MORE_COOKIE(s->codes.at[0].more), XP_MORE_COOKIE(s->words[3]));
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK_EQ(s->codes.n, 0);
}

/* What the loop calls is the leaf: its frame of Python is not where the thread was interrupted. */
TEST(python_frames_below_a_function_of_c)
{
    AUTO_PYTHON p = shim_new();
    world_set(p->w, STACK - 8, p->loop + 2);
    world_unwind(p->w, p->c + 2, STACK - C_BYTES, 0);
    CHECK(native_is(p, 0, p->c));
    CHECK(python_is(p, 1, 0, false) && python_is(p, 3, 1, false) && python_is(p, 6, 2, false));
}

/* Another code object may have its names where one had them that had its place: its cookie is another one. */
TEST(python_code_that_took_the_place_of_other_code)
{
    struct xp_python l = SHIM;
    l.shape = XP_PYTHON_EACH;
    for (l.text = 0; l.text <= 16; l.text += 16) {
        AUTO_PYTHON p = python_new(&l);
        call_loop(p, 0, p->root + 2);
        world_set(p->w, STATE + CURRENT, FRAME(0));
        set_frame(p, 0, FRAME(0), 0, 0);
        world_unwind(p->w, p->loop + 2, STACK, 0);
        u32 before = XP_MORE_COOKIE(p->w->state->words[1]);
        world_set(p->w, CODE(0) - 24, 99ull << 32);
        world_set(p->w, TEXT(0) + 40, 99);
        world_unwind(p->w, p->loop + 2, STACK, 0);
        CHECK(before && before != XP_MORE_COOKIE(p->w->state->words[1]));
    }
}

/* The leaf has not entered its frame into the list: the frames there are those of calls further out. */
TEST(python_calls_that_have_just_begun)
{
    AUTO_PYTHON p = shim_new();
    world_set(p->w, STATE + CURRENT, FRAME(2));
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK_EQ(p->w->state->sample.nuser, 5);
    CHECK(native_is(p, 0, p->loop) && native_is(p, 1, p->c) && python_is(p, 2, 2, false) && native_is(p, 4, p->root));
}

/* A part of the loop that has no rows of its own was not seen as such: its frames go to the next call. */
TEST(python_calls_that_are_not_seen)
{
    AUTO_PYTHON p = shim_new();
    world_set(p->w, STACK + LOOP_BYTES - 8, p->c + 2);
    world_unwind(p->w, p->c + 2, STACK + LOOP_BYTES, 0);
    CHECK(native_is(p, 0, p->c));
    CHECK(python_is(p, 1, 0, false) && python_is(p, 3, 1, false) && python_is(p, 5, 2, false));
    CHECK(native_is(p, 7, p->root));
}

/* The loop is many functions, which have the object of their call behind their frames, and some are not known as such.
 */
TEST(python_calls_of_a_loop_that_is_many_functions)
{
    AUTO_PYTHON p = shim_new();
    p->w->vma.file.flags = XP_TABLE_OF_LANGUAGE(XP_LANGUAGE_PYTHON_CALLS);
    p->w->rules[2].cfa_off = 8; /* calls have no objects in their own frames */
    world_set(p->w, STACK, p->c + 2);
    world_set(p->w, STACK + LOOP_BYTES, p->loop + 2);
    world_set(p->w, STACK + 8 + C_BYTES - 8, p->c + 2);
    world_set(p->w, STACK + 8 + 2 * C_BYTES - 8, p->loop + 2);
    world_set(p->w, STACK + 8 + 2 * C_BYTES, p->root + 2);
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK_EQ(p->w->state->sample.nuser, 9);
    CHECK(python_is(p, 0, 0, true) && python_is(p, 2, 1, false) && native_is(p, 4, p->c) && native_is(p, 5, p->c));
    CHECK(python_is(p, 6, 2, false) && native_is(p, 8, p->root));
    world_set(p->w, STACK + 8 + 2 * C_BYTES - 8, p->root + 2);
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK_EQ(p->w->state->sample.nuser, 9);
    CHECK(python_is(p, 4, 2, false) && native_is(p, 6, p->c) && native_is(p, 7, p->c) && native_is(p, 8, p->root));
}

TEST(python_3_11_tells_by_a_flag)
{
    struct xp_python l = SHIM;
    l.shape = XP_PYTHON_ENTRY;
    l.state_frame = 0;
    l.state_cframe = CURRENT_CALL;
    l.cframe_frame = 8;
    l.cframe_back = 16;
    l.tag_bits = 0;
    l.text = 16;
    AUTO_PYTHON p = python_new(&l);
    two_calls(p);
    three_frames(p);
    set_frame(p, 1, FRAME(1), FRAME(2), 1); /* is_entry */
    set_frame(p, 2, FRAME(2), 0, 1);
    world_set(p->w, STATE + CURRENT_CALL, p->calls[0]);
    world_set(p->w, p->calls[0] + 8, FRAME(0));
    world_set(p->w, p->calls[0] + 16, p->calls[1]);
    world_set(p->w, p->calls[1] + 8, FRAME(2));
    world_set(p->w, p->calls[1] + 16, TLS);
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK(all_are_right(p, true));
    world_set(p->w, STATE + CURRENT_CALL, p->calls[1]); /* the leaf has just begun */
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK(native_is(p, 0, p->loop) && native_is(p, 1, p->c) && python_is(p, 2, 2, false));
}

/* Up to 3.10, one frame each. */
static struct python *each_new(u8 shape)
{
    struct xp_python l = SHIM;
    l.shape = shape;
    l.state_cframe = shape == XP_PYTHON_CFRAME ? CURRENT_CALL : 0;
    l.cframe_back = 16;
    l.names = 3;
    l.text = 16;
    l.tag_bits = 0;
    l.code_start = 0;
    struct python *p = python_new(&l);
    two_calls(p);
    three_frames(p);
    set_frame(p, 0, FRAME(0), FRAME(2), 0);
    set_frame(p, 2, FRAME(2), 0, 0);
    world_set(p->w, STATE + CURRENT_CALL, p->calls[0]);
    world_set(p->w, p->calls[0] + 16, p->calls[1]);
    world_set(p->w, p->calls[1] + 16, TLS);
    return p;
}

TEST(python_3_9_has_a_frame_for_each_call)
{
    AUTO_PYTHON p = each_new(XP_PYTHON_EACH);
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK(python_is(p, 0, 0, true) && native_is(p, 2, p->c) && python_is(p, 3, 2, false) && native_is(p, 5, p->root));
}

TEST(python_3_10_knows_which_call_is_which)
{
    AUTO_PYTHON p = each_new(XP_PYTHON_CFRAME);
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK(python_is(p, 0, 0, true) && native_is(p, 2, p->c) && python_is(p, 3, 2, false) && native_is(p, 5, p->root));
    world_set(p->w, STATE + CURRENT_CALL, p->calls[1]);
    world_set(p->w, STATE + CURRENT, FRAME(2));
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK(native_is(p, 0, p->loop) && native_is(p, 1, p->c) && python_is(p, 2, 2, false));
}

/* The pointer to the state is in an array that the thread points to. */
TEST(python_state_in_an_array)
{
    AUTO_PYTHON p = shim_new();
    p->machine.python.slot = 0x19;
    world_set(p->w, TLS + SLOT, TLS + 0x80);
    world_set(p->w, TLS + 0x98, STATE);
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK(all_are_right(p, true));
}

TEST(python_state_of_another_thread)
{
    AUTO_PYTHON p = shim_new();
    world_set(p->w, STATE + THREAD, TLS + 8);
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK_EQ(p->w->state->sample.nuser, 4);
    CHECK(native_is(p, 0, p->loop) && native_is(p, 2, p->loop));
}

TEST(python_that_is_not_known_is_sought)
{
    AUTO_PYTHON p = shim_new();
    p->w->space.machine = NULL;
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK_EQ(p->w->state->sample.nuser, 4);
    CHECK(p->w->state->sample.flags & XP_SAMPLE_RUNTIME);
}

/* A list without end, and frames that cannot be read: the stack is the loop's, or what was found; it ends. */
TEST(python_frames_of_hostile_processes)
{
    AUTO_PYTHON p = shim_new();
    world_set(p->w, FRAME(1) + BACK, FRAME(0));
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK_EQ(p->w->state->cause, XP_CAUSE_DEPTH);
    CHECK(p->w->state->sample.nuser <= XP_MAX_USER);
    world_set(p->w, FRAME(1) + BACK, 8);
    world_unwind(p->w, p->loop + 2, STACK, 0);
    CHECK_EQ(p->w->state->cause, XP_CAUSE_END);
    CHECK(python_is(p, 0, 0, true) && python_is(p, 2, 1, false) && native_is(p, 5, p->loop));
    u64 x = 88172645463325252ull;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        world_set(p->w, TLS + (x >> 20 & 0x1ff) * 8, x & 1 ? FRAME(x >> 40 & 7) : x);
        world_unwind(p->w, p->loop + 2, STACK, 0);
        CHECK(p->w->state->sample.nuser <= XP_MAX_USER);
    }
}
