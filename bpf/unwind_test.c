/* What the unwinder makes of each kind of synthesised rule: a program of one page, each rule in force for 16 bytes of
 * it, and a page of stack. */
#include "base/cleanup.h"
#include "base/test.h"
#include "bpf/host/unwind_host.h"
#include <stdlib.h>

#define TEXT             0x400000ull
#define STACK            0x10000ull
#define WORDS            512 /* a page: windows end where pages do */
#define MAX              8
#define SYNTH(cfa, rbp)  ((u8)(XP_RULE_KIND(cfa, rbp) | XP_RULE_SYNTH))
#define DEREF(off, plus) ((s32)((u32)(u16)(off) | (u32)(plus) << 16))

struct world {
    u64 stack[WORDS];
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
    if (from < STACK || from - STACK > sizeof(w->stack) || len > sizeof(w->stack) - (from - STACK))
        return 1;
    memcpy(to, (const u8 *)w->stack + (from - STACK), len);
    return 0;
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

static void world_free(struct world **w)
{
    if (*w)
        free((*w)->state);
    free(*w);
}
#define WORLD CLEANUP(world_free) struct world *

/* Word i of the stack is at STACK + 8 * i. */
static struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof(*w));
    w->state = calloc(1, sizeof(*w->state));
    w->words[0] = 2;
    w->vma = (struct xp_vma){.start = TEXT, .end = TEXT + 0x1000, .bias = TEXT};
    w->vma.file = (struct xp_file){.id = XP_FILE_FIRST, .state = XP_FILE_READY, .uid = 1, .nblocks = 1};
    w->space = (struct host_space){
        .words = w->words,
        .nwords = sizeof(w->words) / sizeof(*w->words),
        .rules = w->rules,
        .vmas = &w->vma,
        .nvmas = 1,
        .read = read_memory,
        .ctx = w,
    };
    return w;
}

/* The number of frames of a stack whose leaf is at `ip`, with rsp = STACK. */
static u32 unwind(struct world *w, u64 ip, u64 bp, u64 bx)
{
    w->regs.r[16] = ip;
    w->regs.r[7] = STACK;
    w->regs.r[6] = bp;
    w->regs.r[3] = bx;
    host_unwind(&w->space, &w->regs, w->state);
    return w->state->sample.nuser;
}

static u32 word_kind(const struct world *w, u32 i)
{
    return XP_WORD_KIND(w->state->words[i]);
}

/* A leaf with this rule, whose CFA is STACK + 8 * words, and its caller, the outermost frame. */
static void check_kind(struct xp_rule r, u32 words)
{
    WORLD w = world_new();
    u64 leaf = add(w, r), root = add(w, (struct xp_rule){.kind = XP_CFA_END});
    for (unsigned i = 0; i < 16; i++)
        w->regs.r[i] = STACK + 8 * i;
    w->stack[1] = STACK + 16; /* what a dereferenced pointer finds */
    w->stack[2] = 24;         /* the size of a frame, in it */
    w->stack[words - 1] = root + 1;
    CHECK_EQ(unwind(w, leaf, STACK + 8 * 6, STACK + 8 * 3), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    CHECK_EQ(w->state->sp, STACK + 8 * words);
    CHECK_EQ(word_kind(w, 0), XP_WORD_CFI);
    CHECK_EQ(word_kind(w, 1), XP_WORD_SYNTH);
}

TEST(unwind_synthesised_rules_of_every_kind)
{
    check_kind((struct xp_rule){.kind = SYNTH(XP_CFA_RSP, 0), .cfa_off = 40}, 5);
    check_kind((struct xp_rule){.kind = SYNTH(XP_CFA_RBP, 0), .cfa_off = 16}, 8);
    check_kind((struct xp_rule){.kind = SYNTH(XP_CFA_RBX, 0), .cfa_off = 16}, 5);
    check_kind((struct xp_rule){.kind = SYNTH(XP_CFA_DEREF_RSP, 0), .cfa_off = DEREF(8, 8)}, 3);
    check_kind((struct xp_rule){.kind = SYNTH(XP_CFA_DEREF_RBP, 0), .cfa_off = DEREF(-40, 16)}, 4);
    check_kind((struct xp_rule){.kind = SYNTH(XP_CFA_RSP_DEREF, 0), .cfa_off = DEREF(16, 8)}, 4);
    check_kind((struct xp_rule){.kind = SYNTH(XP_CFA_RSP_DEREF, 0), .cfa_off = DEREF(16, 16)}, 5);
    for (unsigned reg = 4; reg < 16; reg++)
        if (reg != 6 && reg != 7)
            check_kind((struct xp_rule){.kind = SYNTH(XP_CFA_REG, 0), .cfa_off = XP_REG_RULE(reg, -8)}, reg - 1);
}

TEST(unwind_backward_solved_rules_are_inferred)
{
    WORLD w = world_new();
    u64 leaf =
        add(w, (struct xp_rule){
                   .kind = SYNTH(XP_CFA_RSP, XP_RBP_CFA), .cfa_off = 24, .rbp_off = -16, .rbx = XP_RBX_INFERRED | 3});
    u64 plain = add(w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8});
    u64 root = add(w, (struct xp_rule){.kind = XP_CFA_END});
    w->stack[0] = 0x33;
    w->stack[1] = 0x66;
    w->stack[2] = plain + 1;
    w->stack[3] = root + 1;
    CHECK_EQ(unwind(w, leaf, 0, 0), 3);
    CHECK_EQ(word_kind(w, 1), XP_WORD_INFERRED);
    CHECK_EQ(word_kind(w, 2), XP_WORD_CFI); /* only the frame that the row led to */
    CHECK_EQ(w->state->bx, 0x33);
    CHECK_EQ(w->state->bp, 0x66);
}

TEST(unwind_synthesised_rbp_may_be_relative_to_rsp)
{
    WORLD w = world_new();
    u64 leaf = add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_RSP, XP_RBP_RSP), .cfa_off = 40, .rbp_off = 16});
    u64 root = add(w, (struct xp_rule){.kind = XP_CFA_END});
    w->stack[2] = 0x66;
    w->stack[4] = root + 1;
    CHECK_EQ(unwind(w, leaf, 0x77, 0), 2);
    CHECK_EQ(w->state->bp, 0x66);
}

TEST(unwind_indexed_cfa_in_the_leaf_alone)
{
    WORLD w = world_new();
    struct xp_rule r = {.kind = XP_CFA_INDEXED, .cfa_off = XP_INDEX_RULE(9, -8, 24)};
    u64 leaf = add(w, r), root = add(w, (struct xp_rule){.kind = XP_CFA_END});
    w->regs.r[9] = 5;
    w->stack[4] = STACK + 8 * 6; /* at rsp + 5 * 8 - 8 */
    w->stack[8] = root + 1;
    CHECK_EQ(unwind(w, leaf, 0, 0), 2);
    CHECK_EQ(w->state->sp, STACK + 8 * 9);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    w->stack[8] = leaf + 4; /* called it: its r9 is another's by now */
    CHECK_EQ(unwind(w, leaf, 0, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_LEAF_RULE);
    w->regs.r[9] = 1ull << 60;
    CHECK_EQ(unwind(w, leaf, 0, 0), 1);
}

/* What a synthesised row does not know stays unknown to the rows of others, and does not end a stack either. */
TEST(unwind_lost_registers_stay_lost)
{
    static const u8 needs[] = {XP_CFA_RBP, XP_CFA_RBX, XP_CFA_NONE};
    for (unsigned i = 0; i < sizeof(needs); i++) {
        WORLD w = world_new();
        u64 leaf =
            add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_RSP, XP_RBP_LOST), .cfa_off = 16, .rbx = XP_SYNTH_RBX_LOST});
        u64 caller = add(w, (struct xp_rule){.kind = needs[i], .cfa_off = 16});
        w->stack[1] = caller + 4;
        CHECK_EQ(unwind(w, leaf, STACK + 64, STACK + 64), 2);
        CHECK_EQ(w->state->cause, needs[i] ? XP_CAUSE_STUCK : XP_CAUSE_NO_RULE);
    }
}

TEST(unwind_unproven_code_has_a_name)
{
    WORLD w = world_new();
    u64 leaf = add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_UNPROVEN, 0)});
    CHECK_EQ(unwind(w, leaf, STACK + 8, 0), 1); /* whatever rbp may look like */
    CHECK_EQ(w->state->cause, XP_CAUSE_UNPROVEN);
    u64 plain = add(w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8});
    w->stack[0] = leaf + 4;
    CHECK_EQ(unwind(w, plain, STACK + 8, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_UNPROVEN);
}

TEST(unwind_takes_no_zero_for_the_end_on_the_word_of_a_synthesised_row)
{
    WORLD w = world_new();
    u64 leaf = add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_RSP, 0), .cfa_off = 8});
    u64 plain = add(w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8});
    w->stack[0] = 0;
    CHECK_EQ(unwind(w, leaf, 0, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_UNPROVEN);
    CHECK_EQ(unwind(w, plain, 0, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_END_FP);
}

TEST(unwind_finds_a_start_behind_unproven_code)
{
    WORLD w = world_new();
    u64 leaf = add(w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8});
    add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_UNPROVEN, 0)});
    u64 start = add(w, (struct xp_rule){.kind = XP_CFA_END});
    w->stack[0] = start; /* as makecontext and clone have it: the first instruction, behind no call */
    CHECK_EQ(unwind(w, leaf, 0, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
}

TEST(unwind_synthesised_frames_move_towards_the_root)
{
    WORLD w = world_new();
    u64 leaf = add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_RSP, 0), .cfa_off = 16});
    u64 caller = add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_RSP_DEREF, 0), .cfa_off = DEREF(0, 0)});
    w->stack[1] = caller + 4;
    w->stack[2] = 0; /* the size of the caller's frame: nothing */
    CHECK_EQ(unwind(w, leaf, 0, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_STUCK);
    w->stack[2] = (u64)-64;
    CHECK_EQ(unwind(w, leaf, 0, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_STUCK);
}
