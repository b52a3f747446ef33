/* What the unwinder makes of Go's rules: a program of one page, each rule in force for 16 bytes of it, and a few words
 * of memory for stacks, TLS, g and m. */
#include "base/cleanup.h"
#include "base/test.h"
#include "bpf/host/unwind_host.h"
#include "object/rows.h"
#include <stdlib.h>

#define TEXT   0x400000ull
#define MEMORY 0x10000ull /* 512 words */
#define WORDS  512
#define TLS    (MEMORY + 0x800)
#define G      (MEMORY + 0x900) /* of the scheduler */
#define M      (MEMORY + 0xa00)
#define CURG   (MEMORY + 0xb00)
#define STACK  (MEMORY + 0x100) /* the scheduler's */
#define GSTACK (MEMORY + 0x400) /* the goroutine's */
#define MAX    16

struct world {
    u64 memory[WORDS];
    u32 words[2 + MAX + 1]; /* the index of one block, and rows */
    _Alignas(u64) struct xp_rule rules[MAX + 1];
    u32 n;
    struct xp_vma vma;
    struct host_space space;
    struct xp_regs regs;
    struct xp_state *state;
};

static int read_memory(void *ctx, void *to, u32 len, u64 from)
{
    const struct world *w = ctx;
    if (from < MEMORY || from - MEMORY > sizeof(w->memory) || len > sizeof(w->memory) - (from - MEMORY))
        return 1;
    memcpy(to, (const u8 *)w->memory + (from - MEMORY), len);
    return 0;
}

static void set(struct world *w, u64 at, u64 value)
{
    w->memory[(at - MEMORY) / 8] = value;
}

/* The next 16 bytes of code have this rule; the address of the first one. */
static u64 add(struct world *w, struct xp_rule r)
{
    u32 i = ++w->n;
    w->rules[i] = r;
    w->words[1 + i] = i * 16 | i << 16;
    w->words[1] = 2 + i;
    return TEXT + i * 16;
}

static u64 add_kind(struct world *w, unsigned kind, s32 off)
{
    return add(w, (struct xp_rule){.kind = (u8)kind, .cfa_off = off});
}

static void world_free(struct world **w)
{
    if (*w)
        free((*w)->state);
    free(*w);
}

static struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof(*w));
    w->state = calloc(1, sizeof(*w->state));
    w->words[0] = 2; /* in front of the first row there is none: the word before it is taken as one */
    w->vma = (struct xp_vma){.start = TEXT, .end = TEXT + 0x1000, .bias = TEXT};
    w->vma.file = (struct xp_file){.id = XP_FILE_FIRST, .state = XP_FILE_READY, .uid = 1, .nblocks = 1};
    w->space = (struct host_space){
        .words = w->words,
        .nwords = sizeof(w->words) / sizeof(*w->words),
        .rules = w->rules,
        .vmas = &w->vma,
        .nvmas = 1,
        .tls = TLS,
        .read = read_memory,
        .ctx = w,
    };
    set(w, TLS - 8, G);
    set(w, G + XP_GO_G_M, M);
    set(w, M + 184, CURG);
    set(w, CURG + XP_GO_SCHED_SP, GSTACK);
    set(w, CURG + 96, 0x1234);
    return w;
}
#define WORLD CLEANUP(world_free) struct world *

static struct xp_rule resume(unsigned how)
{
    return (struct xp_rule){.kind = XP_RULE_KIND(XP_CFA_GO_G, how), .cfa_off = -8, .rbp_off = 184, .rbx = 96};
}

/* From `ip` with the scheduler's stack; the number of frames, ours[] their offsets. */
static u32 unwind(struct world *w, u64 ip, u64 sp, u64 bp)
{
    w->regs.r[16] = ip;
    w->regs.r[7] = sp;
    w->regs.r[6] = bp;
    host_unwind(&w->space, &w->regs, w->state);
    return w->state->sample.nuser;
}

static bool frame_is(const struct world *w, u32 i, u64 ip, bool exact)
{
    u64 word = w->state->words[i];
    return i < w->state->sample.nuser && XP_WORD_OFFSET(word) == ip - TEXT && !(word & XP_WORD_EXACT) == !exact;
}

TEST(go_goes_on_where_the_goroutine_left)
{
    WORLD w = world_new();
    u64 more = add(w, resume(0)), fn = add_kind(w, XP_CFA_RSP, 16), root = add_kind(w, XP_CFA_END, 0);
    set(w, CURG + XP_GO_SCHED_PC, fn);
    set(w, GSTACK + 8, root + 4);
    CHECK_EQ(unwind(w, more + 2, STACK, 0), 3);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    CHECK(frame_is(w, 0, more + 2, true));
    CHECK(frame_is(w, 1, fn, true)); /* where the goroutine stands, not behind a call */
    CHECK(frame_is(w, 2, root + 4, false));
    CHECK_EQ(w->state->bp, 0x1234);
}

TEST(go_goes_on_behind_the_call_by_which_it_left)
{
    WORLD w = world_new();
    u64 sys = add(w, resume(XP_GO_POP)), fn = add_kind(w, XP_CFA_RSP, 16), root = add_kind(w, XP_CFA_END, 0);
    set(w, CURG + XP_GO_SCHED_PC, 1); /* of no use */
    set(w, GSTACK, fn + 8);
    set(w, GSTACK + 16, root + 4);
    CHECK_EQ(unwind(w, sys, STACK, 0), 3);
    CHECK(frame_is(w, 1, fn + 8, false) && frame_is(w, 2, root + 4, false));
}

TEST(go_finds_g_through_a_slot)
{
    WORLD w = world_new();
    struct xp_rule r = resume(XP_GO_SLOT);
    r.cfa_off = (s32)(MEMORY - TEXT); /* the first word of memory, seen from the file */
    set(w, MEMORY, (u64)-8);
    u64 more = add(w, r), root = add_kind(w, XP_CFA_END, 0);
    set(w, CURG + XP_GO_SCHED_PC, root);
    CHECK_EQ(unwind(w, more, STACK, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    set(w, MEMORY, 1ull << 40);
    CHECK_EQ(unwind(w, more, STACK, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_GO_SWITCH);
}

TEST(go_stacks_of_the_scheduler_are_complete)
{
    WORLD w = world_new();
    u64 more = add(w, resume(0));
    set(w, M + 184, 0);
    CHECK_EQ(unwind(w, more, STACK, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
}

TEST(go_switches_that_cannot_be_read_have_a_name)
{
    static const u64 broken[] = {TLS - 8, G + XP_GO_G_M, CURG + XP_GO_SCHED_PC};
    for (unsigned i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        WORLD w = world_new();
        u64 more = add(w, resume(0));
        set(w, CURG + XP_GO_SCHED_PC, more);
        set(w, broken[i], 0);
        CHECK_EQ(unwind(w, more, STACK, 0), 1);
        CHECK_EQ(w->state->cause, XP_CAUSE_GO_SWITCH);
    }
    WORLD w = world_new();
    u64 lost = add_kind(w, XP_CFA_GO_LOST, 0);
    CHECK_EQ(unwind(w, lost, STACK, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_GO_LAYOUT);
}

TEST(go_switches_do_not_go_round_for_ever)
{
    WORLD w = world_new();
    u64 more = add(w, resume(0));
    set(w, CURG + XP_GO_SCHED_PC, more);
    CHECK(unwind(w, more, STACK, 0) < 200);
    CHECK_EQ(w->state->cause, XP_CAUSE_STUCK);
}

TEST(go_injected_calls_have_an_exact_caller)
{
    WORLD w = world_new();
    u64 preempt = add_kind(w, XP_CFA_RSP_EXACT, 8), fn = add_kind(w, XP_CFA_RSP, 8), root = add_kind(w, XP_CFA_END, 0);
    set(w, STACK, fn); /* its first instruction: one byte earlier is another function */
    set(w, STACK + 8, root + 1);
    CHECK_EQ(unwind(w, preempt, STACK, 0), 3);
    CHECK(frame_is(w, 1, fn, true) && frame_is(w, 2, root + 1, false));
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
}

TEST(go_frames_in_rbp_may_lie_on_another_stack)
{
    WORLD w = world_new();
    u64 fn = add_kind(w, XP_CFA_RSP, 8), root = add_kind(w, XP_CFA_END, 0);
    u64 hop = add(w, (struct xp_rule){.kind = XP_RULE_KIND(XP_CFA_RBP_HOP, XP_RBP_CFA), .cfa_off = 16, .rbp_off = -16});
    u64 rbp = add(w, (struct xp_rule){.kind = XP_RULE_KIND(XP_CFA_RBP, XP_RBP_CFA), .cfa_off = 16, .rbp_off = -16});
    set(w, GSTACK, fn + 1); /* its caller's, on the higher stack */
    set(w, STACK, 0x77);
    set(w, STACK + 8, root + 1);
    set(w, GSTACK, hop + 1);
    CHECK_EQ(unwind(w, fn, GSTACK, STACK), 3);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    CHECK_EQ(w->state->bp, 0x77);
    set(w, GSTACK, rbp + 1); /* anybody else's must grow */
    CHECK_EQ(unwind(w, fn, GSTACK, STACK), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_STUCK);
}

TEST(go_calls_of_c_lead_back)
{
    WORLD w = world_new();
    u64 c = add_kind(w, XP_CFA_RSP, 8), call = add_kind(w, XP_CFA_GO_CALL, 48 | 40 << 16),
        root = add_kind(w, XP_CFA_END, 0);
    set(w, GSTACK, call + 1);
    set(w, GSTACK + 8 + 48, G); /* g, and how deep its stack was */
    set(w, GSTACK + 8 + 40, 0x20);
    set(w, G + 8, STACK + 0x20); /* where its stack ends */
    set(w, STACK, root + 1);
    CHECK_EQ(unwind(w, c, GSTACK, 0), 3);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    set(w, GSTACK + 8 + 48, 0); /* no g: it stayed on its stack */
    set(w, GSTACK + 8 + 40, STACK);
    CHECK_EQ(unwind(w, c, GSTACK, 0), 3);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    set(w, GSTACK + 8 + 48, 8);
    CHECK_EQ(unwind(w, c, GSTACK, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_GO_SWITCH);
}
