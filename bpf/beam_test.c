/* Stacks of Erlang: a process's own, in its heap, and that of the scheduler's thread. */
#include "cfi/unwind_fixture.h"

#define CODE       0x100000ull /* generated, farther from stacks than frame pointers lead */
#define BY_BP      (CODE + 0x100)
#define BY_PROCESS (CODE + 0x200)
#define NOWHERE    (CODE + 0x300)
#define MAIN       (CODE + 0x800)
#define EXIT       (CODE + 0xf00)

#define REGISTERS (WORLD_MEMORY + 0x200)
#define RBX       (REGISTERS + 0x40)
#define CALLER    (REGISTERS + 0x118) /* a place where the return address of the scheduler may be */
#define STACK     (WORLD_MEMORY + 0x800)
#define THREAD    (WORLD_MEMORY + 0xc00)
#define SCHEDULER (WORLD_MEMORY + 0xc40)
#define PROCESS   (WORLD_MEMORY + 0xd00)
#define STOP      0x58

struct erlang {
    struct world *w;
    struct xp_vma vmas[2];
    struct xp_machine machine;
    u64 root, native; /* code in a file */
};

static void erlang_free(struct erlang **e)
{
    if (*e)
        world_free(&(*e)->w);
    free(*e);
}
#define AUTO_ERLANG CLEANUP(erlang_free) struct erlang *

static void put_code(u8 *to, u32 len, u64 from, u64 at, const u8 *code, u32 n)
{
    for (u32 i = 0; i < n; i++)
        if (at + i - from < len)
            to[at + i - from] = code[i];
}

/* Each address of code follows a call; behind it, the stack of the process is restored. */
static int read_code(void *ctx, void *to, u32 len, u64 from)
{
    static const u8 call[8] = {0x90, 0x90, 0x90, 0xe8};
    static const u8 restores[7] = {0x48, 0x89, 0xec, 0x49, 0x8b, 0x65, STOP}; /* mov rsp, rbp; mov rsp, [r13 + STOP] */
    if (from < CODE - 8 || from > WORLD_TEXT + 0x1000)
        return world_read(ctx, to, len, from);
    memset(to, 0x90, len);
    if (len == sizeof(call))
        memcpy(to, call, sizeof(call));
    put_code(to, len, from, BY_BP + 62, restores, sizeof(restores)); /* not all of it is among the first 64 bytes */
    put_code(to, len, from, BY_PROCESS + 252, restores + 3, 4);
    return 0;
}

static struct erlang *erlang_new(void)
{
    static const u64 stack[] = {0x3b, CODE + 0x401, STACK + 0x102, CODE + 0x404, 0x3b, 0xf, 0, CODE + 0x508, EXIT};
    struct erlang *e = calloc(1, sizeof(*e));
    e->w = world_new();
    e->root = world_add(e->w, (struct xp_rule){.kind = XP_CFA_END});
    e->native = world_add(e->w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 0x20});
    world_map_generated(e->w, e->vmas);
    e->vmas[1].start = CODE;
    e->vmas[1].end = CODE + 0x1000;
    e->w->space.read = read_code;
    e->w->space.read_stack = world_read;
    e->w->space.tls = THREAD;
    e->w->space.machine = &e->machine;
    e->machine.kind = XP_MACHINE_SCRIPT;
    e->machine.script = (struct xp_script){.language = XP_LANGUAGE_BEAM, .found = XP_ROOT_THREAD, .tls = 8};
    e->machine.script.beam = (struct xp_beam){.exit = EXIT,
                                              .main = MAIN,
                                              .main_bytes = 0x100,
                                              .caller = e->root + 2,
                                              .frame = 0x100,
                                              .registers = 0x40,
                                              .scheduler_registers = 8,
                                              .scheduler_process = 16};
    world_set(e->w, THREAD + 8, SCHEDULER);
    world_set(e->w, SCHEDULER + 8, REGISTERS);
    world_set(e->w, SCHEDULER + 16, PROCESS);
    world_set(e->w, PROCESS + STOP, STACK);
    world_set(e->w, CALLER, e->root + 2);
    for (u32 i = 0; i < sizeof(stack) / sizeof(*stack); i++)
        world_set(e->w, STACK + 8 * i, stack[i]);
    e->w->regs.r[3] = RBX;
    return e;
}

static bool is_frame(const struct erlang *e, u32 i, u64 address)
{
    const u64 *w = e->w->state->words + i;
    return w[0] == XP_SCRIPT_WORD(XP_LANGUAGE_BEAM, address) && w[1] == XP_MORE_WORD(0, 0);
}

/* The frames of the process from word i on, and the caller of its scheduler. */
static void check_process(const struct erlang *e, u32 i)
{
    CHECK_EQ(e->w->state->cause, XP_CAUSE_END);
    CHECK_EQ(e->w->state->sample.nuser, i + 5);
    CHECK(is_frame(e, i, CODE + 0x404) && is_frame(e, i + 2, CODE + 0x508));
    CHECK_EQ(e->w->state->words[i + 4], XP_FILE_WORD(XP_WORD_CFI, XP_FILE_FIRST, e->root + 2 - WORLD_TEXT));
}

TEST(erlang_stacks_are_scanned_for_return_addresses)
{
    AUTO_ERLANG e = erlang_new();
    world_unwind(e->w, CODE + 0x10, STACK + 16, 7);
    CHECK_EQ(e->w->state->words[0], XP_SCRIPT_WORD(XP_LANGUAGE_BEAM, CODE + 0x10) | XP_WORD_EXACT);
    check_process(e, 2);
}

TEST(erlang_frame_pointers_are_no_return_addresses)
{
    AUTO_ERLANG e = erlang_new();
    world_set(e->w, STACK + 16, STACK + 48);
    world_set(e->w, STACK + 48, STACK + 64);
    world_unwind(e->w, CODE + 0x10, STACK + 16, STACK + 48);
    check_process(e, 2);
}

/* Variables without value are what was there before: only what leads behind a call is a return address. */
TEST(erlang_frames_that_just_began_have_old_words)
{
    AUTO_ERLANG e = erlang_new();
    world_set(e->w, STACK + 16, 0x80000); /* nothing is there */
    world_set(e->w, STACK + 8, e->native + 8);
    world_unwind(e->w, CODE + 0x10, STACK, 7);
    check_process(e, 2);
}

/* What a term looks like is not looked at in frames of callers. */
TEST(erlang_code_may_be_shared_by_functions)
{
    AUTO_ERLANG e = erlang_new();
    world_unwind(e->w, CODE + 0x10, STACK + 8, 7);
    CHECK(is_frame(e, 2, CODE + 0x401));
    check_process(e, 4);
    world_unwind(e->w, CODE + 0x10, STACK, 7);
    check_process(e, 2);
}

TEST(erlang_stacks_go_on_below_c)
{
    static const u64 code[] = {BY_BP, BY_PROCESS};
    for (u32 i = 0; i < 2; i++) {
        AUTO_ERLANG e = erlang_new();
        world_set(e->w, REGISTERS - 8, code[i]);
        world_set(e->w, PROCESS + STOP, i ? STACK + 16 : 0);
        world_unwind(e->w, e->native, REGISTERS - 0x20, i ? 7 : STACK + 16);
        CHECK(is_frame(e, 1, code[i]));
        check_process(e, 3);
    }
}

/* The leaf is generated code that has changed to the stack of its thread. */
TEST(erlang_code_may_be_on_the_stack_of_its_thread)
{
    AUTO_ERLANG e = erlang_new();
    world_set(e->w, THREAD + 8, 0);
    e->w->regs.r[13] = PROCESS;
    world_unwind(e->w, BY_PROCESS, REGISTERS, 7);
    check_process(e, 2);
}

TEST(erlang_schedulers_have_their_callers)
{
    for (u32 i = 0; i < 4; i++) { /* places, for want of alignment */
        AUTO_ERLANG e = erlang_new();
        world_set(e->w, CALLER, 0);
        world_set(e->w, REGISTERS + 0x108 + 16 * i, e->root + 2);
        world_set(e->w, REGISTERS - 8, MAIN + 0x10);
        world_unwind(e->w, e->native, REGISTERS - 0x20, 7);
        CHECK_EQ(e->w->state->cause, XP_CAUSE_END);
        CHECK_EQ(e->w->state->sample.nuser, 4);
        CHECK(is_frame(e, 1, MAIN + 0x10));
    }
}

static u32 cause_of(struct erlang *e, u64 code)
{
    world_set(e->w, REGISTERS - 8, code);
    world_unwind(e->w, e->native, REGISTERS - 0x20, STACK);
    return e->w->state->cause;
}

TEST(erlang_stacks_that_are_not_found_are_told)
{
    AUTO_ERLANG e = erlang_new();
    CHECK_EQ(cause_of(e, BY_PROCESS), XP_CAUSE_END);
    CHECK_EQ(cause_of(e, NOWHERE), XP_CAUSE_BEAM_STACK);
    world_set(e->w, SCHEDULER + 8, REGISTERS + 64); /* another thread's */
    CHECK_EQ(cause_of(e, BY_PROCESS), XP_CAUSE_BEAM_STACK);
    world_set(e->w, SCHEDULER + 8, REGISTERS);
    world_set(e->w, PROCESS + STOP, STACK + 1);
    CHECK_EQ(cause_of(e, BY_PROCESS), XP_CAUSE_BEAM_STACK);
    world_set(e->w, SCHEDULER + 16, 0);
    CHECK_EQ(cause_of(e, BY_PROCESS), XP_CAUSE_BEAM_STACK);
    CHECK_EQ(cause_of(e, BY_BP), XP_CAUSE_END);
    world_set(e->w, CALLER, 0);
    CHECK_EQ(cause_of(e, BY_BP), XP_CAUSE_BEAM_STACK);
    e->machine.script.beam.caller = 0; /* not known: the process's stack is all there is */
    CHECK_EQ(cause_of(e, BY_BP), XP_CAUSE_END);
    world_set(e->w, STACK + 64, 0x3b); /* it has no end where it can be read */
    for (u64 at = STACK + 72; at < WORLD_MEMORY + 8 * WORLD_WORDS; at += 8)
        world_set(e->w, at, 0x3b);
    CHECK_EQ(cause_of(e, BY_BP), XP_CAUSE_STACK_READ);
}
