/* What the unwinder makes of Go's rules: a program of one page, each rule in force for 16 bytes of it, and a few words
 * of memory for stacks, TLS, g and m. */
#include "cfi/unwind_fixture.h"
#include "cfi/rows.h"

#define MEMORY WORLD_MEMORY
#define TLS    (MEMORY + 0x800)
#define G      (MEMORY + 0x900) /* of the scheduler */
#define M      (MEMORY + 0xa00)
#define CURG   (MEMORY + 0xb00)
#define STACK  (MEMORY + 0x100) /* the scheduler's */
#define GSTACK (MEMORY + 0x400) /* the goroutine's */

static u64 add_kind(struct world *w, unsigned kind, s32 off)
{
    return world_add(w, (struct xp_rule){.kind = (u8)kind, .cfa_off = off});
}

static struct world *go_world(void)
{
    struct world *w = world_new();
    w->space.tls = TLS;
    world_set(w, TLS - 8, G);
    world_set(w, G + XP_GO_G_M, M);
    world_set(w, M + 184, CURG);
    world_set(w, CURG + XP_GO_SCHED_SP, GSTACK);
    world_set(w, CURG + 96, 0x1234);
    return w;
}

static struct xp_rule resume(unsigned how)
{
    return (struct xp_rule){.kind = XP_RULE_KIND(XP_CFA_GO_G, how), .cfa_off = -8, .rbp_off = 184, .rbx = 96};
}

static bool frame_is(const struct world *w, u32 i, u64 ip, bool exact)
{
    u64 word = w->state->words[i];
    return i < w->state->sample.nuser && XP_WORD_OFFSET(word) == ip - WORLD_TEXT && !(word & XP_WORD_EXACT) == !exact;
}

TEST(go_goes_on_where_the_goroutine_left)
{
    AUTO_WORLD w = go_world();
    u64 more = world_add(w, resume(0)), fn = add_kind(w, XP_CFA_RSP, 16), root = add_kind(w, XP_CFA_END, 0);
    world_set(w, CURG + XP_GO_SCHED_PC, fn);
    world_set(w, GSTACK + 8, root + 4);
    CHECK_EQ(world_unwind(w, more + 2, STACK, 0), 3);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    CHECK(frame_is(w, 0, more + 2, true));
    CHECK(frame_is(w, 1, fn, true)); /* where the goroutine stands, not behind a call */
    CHECK(frame_is(w, 2, root + 4, false));
    CHECK_EQ(w->state->bp, 0x1234);
}

TEST(go_goes_on_behind_the_call_by_which_it_left)
{
    AUTO_WORLD w = go_world();
    u64 sys = world_add(w, resume(XP_GO_POP)), fn = add_kind(w, XP_CFA_RSP, 16), root = add_kind(w, XP_CFA_END, 0);
    world_set(w, CURG + XP_GO_SCHED_PC, 1); /* of no use */
    world_set(w, GSTACK, fn + 8);
    world_set(w, GSTACK + 16, root + 4);
    CHECK_EQ(world_unwind(w, sys, STACK, 0), 3);
    CHECK(frame_is(w, 1, fn + 8, false) && frame_is(w, 2, root + 4, false));
}

TEST(go_finds_g_through_a_slot)
{
    AUTO_WORLD w = go_world();
    struct xp_rule r = resume(XP_GO_SLOT);
    r.cfa_off = (s32)(MEMORY - WORLD_TEXT); /* the first word of memory, seen from the file */
    world_set(w, MEMORY, (u64)-8);
    u64 more = world_add(w, r), root = add_kind(w, XP_CFA_END, 0);
    world_set(w, CURG + XP_GO_SCHED_PC, root);
    CHECK_EQ(world_unwind(w, more, STACK, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    world_set(w, MEMORY, 1ull << 40);
    CHECK_EQ(world_unwind(w, more, STACK, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_GO_SWITCH);
}

TEST(go_stacks_of_the_scheduler_are_complete)
{
    AUTO_WORLD w = go_world();
    u64 more = world_add(w, resume(0));
    world_set(w, M + 184, 0);
    CHECK_EQ(world_unwind(w, more, STACK, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
}

TEST(go_switches_that_cannot_be_read_have_a_name)
{
    static const u64 broken[] = {TLS - 8, G + XP_GO_G_M, CURG + XP_GO_SCHED_PC};
    for (unsigned i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        AUTO_WORLD w = go_world();
        u64 more = world_add(w, resume(0));
        world_set(w, CURG + XP_GO_SCHED_PC, more);
        world_set(w, broken[i], 0);
        CHECK_EQ(world_unwind(w, more, STACK, 0), 1);
        CHECK_EQ(w->state->cause, XP_CAUSE_GO_SWITCH);
    }
    AUTO_WORLD w = go_world();
    u64 lost = add_kind(w, XP_CFA_GO_LOST, 0);
    CHECK_EQ(world_unwind(w, lost, STACK, 0), 1);
    CHECK_EQ(w->state->cause, XP_CAUSE_GO_LAYOUT);
}

TEST(go_switches_do_not_go_round_for_ever)
{
    AUTO_WORLD w = go_world();
    u64 more = world_add(w, resume(0));
    world_set(w, CURG + XP_GO_SCHED_PC, more);
    CHECK(world_unwind(w, more, STACK, 0) < 200);
    CHECK_EQ(w->state->cause, XP_CAUSE_STUCK);
}

TEST(go_injected_calls_have_an_exact_caller)
{
    AUTO_WORLD w = go_world();
    u64 preempt = add_kind(w, XP_CFA_RSP_EXACT, 8), fn = add_kind(w, XP_CFA_RSP, 8), root = add_kind(w, XP_CFA_END, 0);
    world_set(w, STACK, fn); /* its first instruction: one byte earlier is another function */
    world_set(w, STACK + 8, root + 1);
    CHECK_EQ(world_unwind(w, preempt, STACK, 0), 3);
    CHECK(frame_is(w, 1, fn, true) && frame_is(w, 2, root + 1, false));
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
}

TEST(go_frames_in_rbp_may_lie_on_another_stack)
{
    AUTO_WORLD w = go_world();
    u64 fn = add_kind(w, XP_CFA_RSP, 8), root = add_kind(w, XP_CFA_END, 0);
    u64 hop =
        world_add(w, (struct xp_rule){.kind = XP_RULE_KIND(XP_CFA_RBP_HOP, XP_RBP_CFA), .cfa_off = 16, .rbp_off = -16});
    u64 rbp =
        world_add(w, (struct xp_rule){.kind = XP_RULE_KIND(XP_CFA_RBP, XP_RBP_CFA), .cfa_off = 16, .rbp_off = -16});
    world_set(w, GSTACK, fn + 1); /* its caller's, on the higher stack */
    world_set(w, STACK, 0x77);
    world_set(w, STACK + 8, root + 1);
    world_set(w, GSTACK, hop + 1);
    CHECK_EQ(world_unwind(w, fn, GSTACK, STACK), 3);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    CHECK_EQ(w->state->bp, 0x77);
    world_set(w, GSTACK, rbp + 1); /* anybody else's must grow */
    CHECK_EQ(world_unwind(w, fn, GSTACK, STACK), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_STUCK);
}

TEST(go_calls_of_c_lead_back)
{
    AUTO_WORLD w = go_world();
    u64 c = add_kind(w, XP_CFA_RSP, 8), call = add_kind(w, XP_CFA_GO_CALL, 48 | 40 << 16),
        root = add_kind(w, XP_CFA_END, 0);
    world_set(w, GSTACK, call + 1);
    world_set(w, GSTACK + 8 + 48, G); /* g, and how deep its stack was */
    world_set(w, GSTACK + 8 + 40, 0x20);
    world_set(w, G + 8, STACK + 0x20); /* where its stack ends */
    world_set(w, STACK, root + 1);
    CHECK_EQ(world_unwind(w, c, GSTACK, 0), 3);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    world_set(w, GSTACK + 8 + 48, 0); /* no g: it stayed on its stack */
    world_set(w, GSTACK + 8 + 40, STACK);
    CHECK_EQ(world_unwind(w, c, GSTACK, 0), 3);
    CHECK_EQ(w->state->cause, XP_CAUSE_END);
    world_set(w, GSTACK + 8 + 48, 8);
    CHECK_EQ(world_unwind(w, c, GSTACK, 0), 2);
    CHECK_EQ(w->state->cause, XP_CAUSE_GO_SWITCH);
}
