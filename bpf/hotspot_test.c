/* What the unwinder makes of code of HotSpot: a page of memory that has a code heap with three blobs, and a stack. */
#include "cfi/unwind_fixture.h"

#define HEAP     WORLD_MEMORY
#define STACK    (HEAP + 0xc00)
#define SEGMENTS (HEAP + 0xf00)
#define NAMES    (HEAP + 0xf40)
#define METHODS  (HEAP + 0xfa0) /* a Method, whose ConstMethod is at CONST */
#define CONST    (HEAP + 0xfb0)
#define SEGMENT  128
#define HEADER   16
#define ID       77
#define BYTECODE 48           /* sizeof(ConstMethod) */
#define CLASS    (CONST + 16) /* also its ConstantPool */
#define SYMBOL   (CONST + 40) /* its name */

enum { COMPILED = HEAP, INTERPRETER = HEAP + 4 * SEGMENT, STUB = HEAP + 8 * SEGMENT }; /* their first segments */
#define BLOB(first) ((first) + HEADER)
#define CODE(first) (BLOB(first) + 0x80)

static const struct xp_jvm LAYOUT = {
    .low = HEAP,
    .high = HEAP + 24 * SEGMENT,
    .heap = {{.low = HEAP, .high = HEAP + 24 * SEGMENT, .segmap = SEGMENTS, .shift = 7}},
    .block_header = HEADER,
    .blob_name = 8,
    .blob_frame_size = 28,
    .blob_code = 36,
    .blob_frame_complete = 54,
    .frame_complete_bytes = 2,
    .code_is_offset = 1,
    .deopt_is_offset = 1,
    .method_id = 64,
    .method_orig_pc = 68,
    .method_deopt = 72,
    .bytecodes = BYTECODE,
    .const_pool = 8,
    .pool_holder = 8,
    .klass_name = 16,
    .symbol_hash = 2,
    .bcp_slot = 8,
};

struct machine {
    struct world *w;
    struct xp_vma vmas[2];
    struct xp_machine machine;
    u64 root; /* native code: the outermost frame, called from root - 1 on */
};

static u8 *at(struct machine *m, u64 address)
{
    return (u8 *)m->w->memory + (address - WORLD_MEMORY);
}

static void set32(struct machine *m, u64 address, u32 v)
{
    memcpy(at(m, address), &v, sizeof(v));
}

static void make_blob(struct machine *m, u64 first, const char *name, u32 words, u64 names)
{
    u64 blob = BLOB(first);
    memcpy(at(m, names), name, strlen(name) + 1);
    world_set(m->w, blob + 8, names);
    set32(m, blob + 28, words);
    set32(m, blob + 36, 0x80);
    *(u16 *)at(m, blob + 54) = 16; /* the frame is complete from here on */
    set32(m, blob + 64, ID);
    set32(m, blob + 68, 8);
    set32(m, blob + 72, 0xf0);
    for (u32 i = 0; i < 4; i++) /* four segments each */
        *at(m, SEGMENTS + (first - HEAP) / SEGMENT + i) = (u8)i;
    for (u32 i = 5; i < 0x80; i += 8) /* calls everywhere: e8 and four bytes */
        *at(m, CODE(first) + i - 2) = 0xe8;
}

static void machine_free(struct machine **m)
{
    if (*m)
        world_free(&(*m)->w);
    free(*m);
}
#define AUTO_MACHINE CLEANUP(machine_free) struct machine *

/* All native code is calls. */
static int read_machine(void *ctx, void *to, u32 len, u64 from)
{
    if (from < WORLD_TEXT || from >= WORLD_TEXT + 0x1000)
        return world_read(ctx, to, len, from);
    memset(to, 0xe8, len);
    return 0;
}

static struct machine *machine_new(void)
{
    struct machine *m = calloc(1, sizeof(*m));
    m->w = world_new();
    m->machine = (struct xp_machine){.kind = XP_MACHINE_JVM, .jvm = LAYOUT};
    memset(at(m, SEGMENTS), 0xff, 24);
    make_blob(m, COMPILED, "nmethod", 4, NAMES);
    make_blob(m, INTERPRETER, "Interpreter", 0, NAMES + 16);
    make_blob(m, STUB, "StubRoutines", 0, NAMES + 32);
    world_set(m->w, METHODS, CONST);
    world_set(m->w, CONST + 8, CLASS);
    world_set(m->w, CLASS + 8, CLASS);
    world_set(m->w, CLASS + 16, SYMBOL);
    world_set(m->w, SYMBOL, 0x12345678);
    m->vmas[0] = m->w->vma;
    m->vmas[1] = (struct xp_vma){.start = HEAP, .end = HEAP + 24 * SEGMENT, .bias = HEAP, .file.state = XP_FILE_JVM};
    m->w->space.vmas = m->vmas;
    m->w->space.nvmas = 2;
    m->w->space.machine = &m->machine;
    m->w->space.read = read_machine;
    m->root = world_add(m->w, (struct xp_rule){.kind = XP_CFA_END}) + 4;
    return m;
}

/* A return address into a blob: behind one of its calls. */
static u64 ret(u64 first, u32 n)
{
    return CODE(first) + 8 * n;
}

static bool java_is(const struct machine *m, u32 word, u32 form, u64 address, u32 position, bool exact)
{
    const u64 *w = m->w->state->words + word;
    return word + 1 < m->w->state->sample.nuser && XP_WORD_KIND(w[0]) == XP_WORD_JAVA && XP_JAVA_FORM(w[0]) == form &&
           XP_JAVA_ADDRESS(w[0]) == address && XP_WORD_KIND(w[1]) == XP_WORD_MORE &&
           XP_MORE_POSITION(w[1]) == position && !(w[0] & XP_WORD_EXACT) == !exact;
}

/* A frame of four words whose caller is compiled, too; a stub called that, which has a frame pointer, and was called by
 * native code. Returns the number of words of the stack. */
static u32 unwind(struct machine *m, u64 ip, u64 sp)
{
    u64 leaf = STACK + 8 * 16, caller = leaf + 8 * 4;
    world_set(m->w, caller - 8, ret(COMPILED, 5));
    world_set(m->w, caller + 8 * 2, caller + 8 * 6); /* the stub's rbp */
    world_set(m->w, caller + 8 * 3, ret(STUB, 4));
    world_set(m->w, caller + 8 * 6, 0x1234);
    world_set(m->w, caller + 8 * 7, m->root);
    return world_unwind(m->w, ip, sp, 0x99);
}

static bool callers_are_right(const struct machine *m, u32 word)
{
    const struct xp_state *s = m->w->state;
    return s->cause == XP_CAUSE_END && s->sample.nuser == word + 5 && s->bp == 0x1234 &&
           java_is(m, word, XP_JAVA_COMPILED, BLOB(COMPILED), 40, false) &&
           java_is(m, word + 2, XP_JAVA_STUB, BLOB(STUB), 0x80 + 32, false);
}

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
        {64, -1, {0x28, 0x0f, 0x87, 1, 0, 0, 0, 0xc3}, 1}, /* here: ja; ret */
        {64, 0, {0xc3}, 1},
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

/* The interpreter's frame, whose caller's rsp is beyond its own end: i2c adapters move it. */
static u64 interpreted(struct machine *m, u64 bcp)
{
    u64 fp = STACK + 8 * 10;
    world_set(m->w, fp, 0x99);
    world_set(m->w, fp + 8, ret(COMPILED, 5));
    world_set(m->w, fp - 8, STACK + 8 * 20);
    world_set(m->w, fp - 8 * 3, METHODS);
    world_set(m->w, fp - 8 * 8, bcp);
    unwind(m, CODE(COMPILED) + 50, STACK + 8 * 16);
    return fp;
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
