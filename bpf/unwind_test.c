/* What the unwinder makes of each kind of synthesised rule: a program of one page, each rule in force for 16 bytes of
 * it, and a page of stack. */
#include "cfi/unwind_fixture.h"
#include "bpf/host/unwind_host.h"
#include <string.h>

#define STACK            WORLD_MEMORY
#define SYNTH(cfa, rbp)  ((u8)(XP_RULE_KIND(cfa, rbp) | XP_RULE_SYNTH))
#define DEREF(off, plus) ((s32)((u32)(u16)(off) | (u32)(plus) << 16))

/* The number of frames of a stack whose leaf is at `ip`, with rsp = STACK: word i of the stack is at STACK + 8 * i. */
static u32 unwind(struct world *w, u64 ip, u64 bp, u64 bx)
{
    w->regs.r[3] = bx;
    return world_unwind(w, ip, STACK, bp);
}

static u32 word_kind(const struct world *w, u32 i)
{
    return XP_WORD_KIND(w->state->words[i]);
}

/* A leaf with this rule, whose CFA is STACK + 8 * words, and its caller, the outermost frame. */
static void check_kind(struct xp_rule r, u32 words)
{
    AUTO_WORLD w = world_new();
    u64 leaf = world_add(w, r), root = world_add(w, (struct xp_rule){.kind = XP_CFA_END});
    for (unsigned i = 0; i < 16; i++)
        w->regs.r[i] = STACK + 8 * i;
    w->memory[1] = STACK + 16; /* what a dereferenced pointer finds */
    w->memory[2] = 24;         /* the size of a frame, in it */
    w->memory[words - 1] = root + 1;
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
    AUTO_WORLD w = world_new();
    u64 leaf = world_add(
        w, (struct xp_rule){
               .kind = SYNTH(XP_CFA_RSP, XP_RBP_CFA), .cfa_off = 24, .rbp_off = -16, .rbx = XP_RBX_INFERRED | 3});
    u64 plain = world_add(w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8});
    u64 root = world_add(w, (struct xp_rule){.kind = XP_CFA_END});
    w->memory[0] = 0x33;
    w->memory[1] = 0x66;
    w->memory[2] = plain + 1;
    w->memory[3] = root + 1;
    CHECK_EQ(unwind(w, leaf, 0, 0), 3);
    CHECK_EQ(word_kind(w, 1), XP_WORD_INFERRED);
    CHECK_EQ(word_kind(w, 2), XP_WORD_CFI); /* only the frame that the row led to */
    CHECK_EQ(w->state->bx, 0x33);
    CHECK_EQ(w->state->bp, 0x66);
}

TEST(unwind_synthesised_rbp_may_be_relative_to_rsp)
{
    AUTO_WORLD w = world_new();
    u64 leaf = world_add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_RSP, XP_RBP_RSP), .cfa_off = 40, .rbp_off = 16});
    u64 root = world_add(w, (struct xp_rule){.kind = XP_CFA_END});
    w->memory[2] = 0x66;
    w->memory[4] = root + 1;
    CHECK_EQ(unwind(w, leaf, 0x77, 0), 2);
    CHECK_EQ(w->state->bp, 0x66);
}

TEST(unwind_indexed_cfa_in_the_leaf_alone)
{
    AUTO_WORLD w = world_new();
    struct xp_rule r = {.kind = XP_CFA_INDEXED, .cfa_off = XP_INDEX_RULE(9, -8, 24)};
    u64 leaf = world_add(w, r), root = world_add(w, (struct xp_rule){.kind = XP_CFA_END});
    w->regs.r[9] = 5;
    w->memory[4] = STACK + 8 * 6; /* at rsp + 5 * 8 - 8 */
    w->memory[8] = root + 1;
    CHECK_EQ(unwind(w, leaf, 0, 0), 2);
    CHECK_EQ(w->state->sp, STACK + 8 * 9);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    w->memory[8] = leaf + 4; /* called it: its r9 is another's by now */
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
        AUTO_WORLD w = world_new();
        u64 leaf = world_add(
            w, (struct xp_rule){.kind = SYNTH(XP_CFA_RSP, XP_RBP_LOST), .cfa_off = 16, .rbx = XP_SYNTH_RBX_LOST});
        u64 caller = world_add(w, (struct xp_rule){.kind = needs[i], .cfa_off = 16});
        w->memory[1] = caller + 4;
        CHECK_EQ(unwind(w, leaf, STACK + 64, STACK + 64), 2);
        CHECK_EQ(w->state->cause, needs[i] ? XP_CAUSE_STUCK : XP_CAUSE_NO_RULE);
    }
}

TEST(unwind_unproven_code_has_a_name)
{
    AUTO_WORLD w = world_new();
    u64 leaf = world_add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_UNPROVEN, 0)});
    CHECK_EQ(unwind(w, leaf, STACK + 8, 0), 1); /* whatever rbp may look like */
    CHECK_EQ(w->state->cause, XP_CAUSE_UNPROVEN);
    u64 plain = world_add(w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8});
    w->memory[0] = leaf + 4;
    CHECK_EQ(unwind(w, plain, STACK + 8, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_UNPROVEN);
}

TEST(unwind_takes_no_zero_for_the_end_on_the_word_of_a_synthesised_row)
{
    AUTO_WORLD w = world_new();
    u64 leaf = world_add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_RSP, 0), .cfa_off = 8});
    u64 plain = world_add(w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8});
    w->memory[0] = 0;
    CHECK_EQ(unwind(w, leaf, 0, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_UNPROVEN);
    CHECK_EQ(unwind(w, plain, 0, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_END_FP);
}

TEST(unwind_takes_no_zero_for_the_end_in_a_leaf_without_rows)
{
    AUTO_WORLD w = world_new();
    w->vma.file.flags = XP_TABLE_FP_OK;
    u64 leaf = world_add(w, (struct xp_rule){.kind = XP_CFA_NONE});
    CHECK_EQ(unwind(w, leaf, 0, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_FP_BROKEN);
    w->memory[1] = leaf + 4;
    CHECK_EQ(unwind(w, leaf, STACK, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_END_FP);
}

TEST(unwind_finds_a_start_behind_unproven_code)
{
    AUTO_WORLD w = world_new();
    u64 leaf = world_add(w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8});
    world_add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_UNPROVEN, 0)});
    u64 start = world_add(w, (struct xp_rule){.kind = XP_CFA_END});
    w->memory[0] = start; /* as makecontext and clone have it: the first instruction, behind no call */
    CHECK_EQ(unwind(w, leaf, 0, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
}

TEST(unwind_synthesised_frames_move_towards_the_root)
{
    AUTO_WORLD w = world_new();
    u64 leaf = world_add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_RSP, 0), .cfa_off = 16});
    u64 caller = world_add(w, (struct xp_rule){.kind = SYNTH(XP_CFA_RSP_DEREF, 0), .cfa_off = DEREF(0, 0)});
    w->memory[1] = caller + 4;
    w->memory[2] = 0; /* the size of the caller's frame: nothing */
    CHECK_EQ(unwind(w, leaf, 0, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_STUCK);
    w->memory[2] = (u64)-64;
    CHECK_EQ(unwind(w, leaf, 0, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_STUCK);
}

/* Code that no row covers, in a file in this state: does the sample bring a dump along? */
static void check_gap(u32 flags, u32 state, u32 bp, enum xp_cause cause, u32 pending)
{
    AUTO_WORLD w = world_new();
    u64 gap = world_add(w, (struct xp_rule){.kind = XP_CFA_NONE});
    w->vma.file.flags = flags;
    w->vma.file.state = state;
    CHECK_EQ(unwind(w, gap, bp, 0), 1);
    CHECK_EQ(w->state->cause, cause);
    CHECK_EQ(w->state->pending, pending);
}

TEST(unwind_waits_for_rows_while_a_file_is_open)
{
    check_gap(XP_FILE_OPEN, XP_FILE_READY, 3, XP_CAUSE_NO_RULE, XP_WAITS_ROWS);
    check_gap(0, XP_FILE_READY, 3, XP_CAUSE_NO_RULE, 0);
    check_gap(XP_FILE_OPEN, XP_FILE_FP, 3, XP_CAUSE_FP_BROKEN, XP_WAITS_ROWS);
    check_gap(0, XP_FILE_FP, 3, XP_CAUSE_FP_BROKEN, 0);
    check_gap(0, XP_FILE_PENDING, 3, XP_CAUSE_PENDING, XP_WAITS_TABLE);
}

/* Code that a program carries behind its ELF segments is unwound by frame pointer, like a file that is none. */
TEST(unwind_appended_code_by_frame_pointer)
{
    AUTO_WORLD w = world_new();
    u64 appended = WORLD_TEXT + XP_BLOCK + 64;
    w->memory[1] = appended + 32;
    w->memory[3] = 0;
    w->memory[0] = STACK + 16;
    w->vma.bias = WORLD_TEXT - XP_BLOCK; /* the mapping begins behind the only block */
    CHECK_EQ(unwind(w, appended, STACK, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_END_FP);
    CHECK_EQ(word_kind(w, 1), XP_WORD_FP);
    w->vma.bias = WORLD_TEXT; /* part of it has rows, so the rest is code, too */
    CHECK_EQ(unwind(w, appended, STACK, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_NO_RULE);
    w->vma.bias = WORLD_TEXT - XP_BLOCK;
    w->vma.file.nblocks = 0; /* nothing is known of where its code ends */
    CHECK_EQ(unwind(w, appended, STACK, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_NO_RULE);
}

/* Generated code: it has rows, but no file. Its addresses are in memory, so that what precedes them can be seen. */
static struct world *generated_world(void)
{
    struct world *w = world_new();
    w->vma = (struct xp_vma){.start = STACK, .end = STACK + 0x1000, .bias = STACK};
    w->vma.file =
        (struct xp_file){.state = XP_FILE_READY, .uid = 1, .nblocks = 1, .flags = XP_TABLE_FP_OK | XP_FILE_GENERATED};
    return w;
}

static const u64 call = 0xfffffffbe8909090; /* "call -5", up to the end */
static const u64 nops = 0x9090909090909090;

TEST(unwind_generated_code_by_its_rows)
{
    AUTO_WORLD w = generated_world();
    u64 leaf = world_add(w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 16}) - WORLD_TEXT + STACK;
    u64 middle = world_add(w, (struct xp_rule){.kind = XP_CFA_RBP, .cfa_off = 16, .rbp_off = -16}) - WORLD_TEXT + STACK;
    u64 root = world_add(w, (struct xp_rule){.kind = XP_CFA_END}) - WORLD_TEXT + STACK;
    u64 sp = STACK + 256;
    world_set(w, middle, call);
    world_set(w, root, call);
    world_set(w, sp + 8, middle + 8);
    world_set(w, sp + 40, root + 8);
    CHECK_EQ(world_unwind(w, leaf, sp, sp + 32), 3);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    CHECK_EQ(w->state->words[1], middle + 8); /* an address of the process */
    CHECK_EQ(w->state->fp_frames, 0);
    world_set(w, middle, nops); /* other code is there now: its rows are of no use */
    world_set(w, root, nops);
    CHECK_EQ(world_unwind(w, leaf, sp, sp + 32), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_FP_ANON);
    world_set(w, sp + 8, 0);
    CHECK_EQ(world_unwind(w, leaf, sp, sp + 32), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_FP_ANON); /* nor is that an end */
}

TEST(unwind_generated_code_without_rows_by_frame_pointer)
{
    AUTO_WORLD w = generated_world();
    u64 leaf = world_add(w, (struct xp_rule){.kind = XP_CFA_NONE}) - WORLD_TEXT + STACK;
    u64 root = world_add(w, (struct xp_rule){.kind = XP_CFA_END}) - WORLD_TEXT + STACK;
    world_set(w, STACK + 256, STACK + 512);
    world_set(w, STACK + 264, root + 8);
    CHECK_EQ(world_unwind(w, leaf, STACK + 200, STACK + 256), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    CHECK_EQ(w->state->fp_frames, 1);
    CHECK_EQ(world_unwind(w, leaf, STACK + 200, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_FP_ANON_END);
}

/* add rsp, 8; ret: there is no frame pointer, but nothing else can come. */
TEST(unwind_trampolines_in_generated_code)
{
    AUTO_WORLD w = generated_world();
    u64 leaf = world_add(w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = 8}) - WORLD_TEXT + STACK;
    u64 middle = world_add(w, (struct xp_rule){.kind = XP_CFA_NONE}) - WORLD_TEXT + STACK;
    u64 root = world_add(w, (struct xp_rule){.kind = XP_CFA_END}) - WORLD_TEXT + STACK;
    u64 sp = STACK + 256;
    world_set(w, middle, call);
    world_set(w, middle + 8, 0x909090c308c48348);
    world_set(w, root, call);
    world_set(w, sp, middle + 8);
    world_set(w, sp + 16, root + 8);
    CHECK_EQ(world_unwind(w, leaf, sp, 1), 3);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    CHECK_EQ(w->state->words[2], root + 8);
    world_set(w, root, nops);
    world_set(w, middle + 8, 0x909090c309c48348); /* no frame is so large */
    CHECK_EQ(world_unwind(w, leaf, sp, 1), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_FP_ANON);
    world_set(w, middle, nops);
    world_set(w, middle + 8, 0x909090c308c48348);
    CHECK_EQ(world_unwind(w, middle + 8, sp, 1), 1); /* a leaf may jump there */
    CHECK_EQ(w->state->cause, XP_CAUSE_FP_ANON);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

static int follows_call(const u8 code[8])
{
    for (int at = 1; at < 7; at++)
        if (code[at] == 0xff && (code[at + 1] & 0x38) == 0x10)
            return 1;
    return code[3] == 0xe8;
}

TEST(unwind_sees_calls_of_every_form)
{
    static const u8 bytes[] = {0x00, 0x01, 0x0f, 0x10, 0x17, 0x18, 0x50, 0x7f, 0x80, 0x90, 0xd0, 0xe8, 0xfe, 0xff};
    for (int at = 0; at < 7; at++)
        for (int opcode = 0; opcode < 256; opcode++)
            for (int operand = 0; operand < 256; operand++)
                for (size_t i = 0; i < sizeof(bytes); i++) {
                    u8 code[8];
                    memset(code, bytes[i], sizeof(code));
                    code[at] = (u8)opcode;
                    code[at + 1] = (u8)operand;
                    CHECK_EQ(host_is_call(code), follows_call(code));
                }
}
