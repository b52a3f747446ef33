/* What the unwinder makes of generated code that has neither unwind information nor frame pointers. */
#include "cfi/unwind_fixture.h"

#define STACK (WORLD_MEMORY + 0x200)
#define FRAME 32 /* bytes of a frame of C */

struct lost {
    struct world *w;
    struct xp_vma vmas[2];
    u64 root, c; /* code: the outermost frame; a function that is called */
};

/* All code looks the same here: each address follows a call (E8, rel32), but for odd ones. */
static int lost_read(void *ctx, void *to, u32 len, u64 from)
{
    static const u8 call[8] = {0x90, 0x90, 0x90, 0xe8}, none[8] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
    if (from < WORLD_TEXT - 64 && (from < WORLD_GENERATED - 64 || from >= WORLD_GENERATED + 0x1000))
        return world_read(ctx, to, len, from);
    memcpy(to, from & 1 ? none : call, len < 8 ? len : 8);
    return 0;
}

static void lost_free(struct lost **l)
{
    if (*l)
        world_free(&(*l)->w);
    free(*l);
}
#define AUTO_LOST CLEANUP(lost_free) struct lost *

/* A function of C, which is at STACK + `at`, was called by another one, and that by the root. */
static void set_stack(struct lost *l, u64 at)
{
    world_set(l->w, STACK + at, l->c + 2);
    world_set(l->w, STACK + at + FRAME, l->c + 4);
    world_set(l->w, STACK + at + 2 * FRAME, l->root + 2);
}

static struct lost *lost_new(void)
{
    struct lost *l = calloc(1, sizeof(*l));
    l->w = world_new();
    l->root = world_add(l->w, (struct xp_rule){.kind = XP_CFA_END});
    l->c = world_add(l->w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = FRAME});
    world_map_generated(l->w, l->vmas);
    l->w->space.read = lost_read;
    l->w->space.read_stack = world_read;
    return l;
}

static u32 unwind(struct lost *l)
{
    return world_unwind(l->w, WORLD_GENERATED + 0x100, STACK, 0);
}

static bool is_whole(struct lost *l)
{
    const u64 *w = l->w->state->words;
    return unwind(l) == 4 && l->w->state->cause == XP_CAUSE_END && XP_WORD_KIND(w[0]) == XP_WORD_ANON &&
           XP_WORD_KIND(w[1]) == XP_WORD_INFERRED && (XP_WORD_OFFSET(w[1]) & ~15ull) == l->c - WORLD_TEXT &&
           XP_WORD_KIND(w[2]) == XP_WORD_CFI && (XP_WORD_OFFSET(w[3]) & ~15ull) == l->root - WORLD_TEXT;
}

TEST(scan_finds_who_called_generated_code)
{
    for (u64 at = 0; at < 192 * 8; at += 8) {
        AUTO_LOST l = lost_new();
        set_stack(l, at);
        CHECK(is_whole(l));
        CHECK(l->w->state->runtime & XP_SCANNED && l->w->state->fp_frames);
    }
    AUTO_LOST far = lost_new();
    set_stack(far, 192 * 8);
    CHECK_EQ(unwind(far), 1);
    CHECK_EQ(far->w->state->cause, XP_CAUSE_FP_ANON_END);
}

/* Words that lead to code, but were not called from there, or whose callers are none. */
TEST(scan_believes_no_other_words)
{
    AUTO_LOST l = lost_new();
    world_set(l->w, STACK, l->c + 3);     /* no call before it */
    world_set(l->w, STACK + 8, l->c + 6); /* its caller would be 0x1234 */
    world_set(l->w, STACK + 40, 0x1234);
    world_set(l->w, STACK + 16, l->c + 6); /* its caller's caller would be in no mapping */
    world_set(l->w, STACK + 48, l->c + 8);
    world_set(l->w, STACK + 80, 0x300000);
    world_set(l->w, STACK + 24, 0x300000);
    world_set(l->w, STACK + 32, STACK + 64);
    set_stack(l, 104);
    CHECK(is_whole(l));
}

/* Generated code that was called by such. */
TEST(scan_goes_on_from_frame_to_frame)
{
    AUTO_LOST l = lost_new();
    world_set(l->w, STACK + 24, WORLD_GENERATED + 0x200);
    set_stack(l, 64);
    CHECK_EQ(unwind(l), 5);
    CHECK_EQ(XP_WORD_ADDR(l->w->state->words[1]), WORLD_GENERATED + 0x200);
    CHECK_EQ(l->w->state->cause, XP_CAUSE_END);
}

/* Where the frame pointer leads somewhere, it is believed first. */
TEST(scan_is_the_last_resort)
{
    AUTO_LOST l = lost_new();
    set_stack(l, 8);
    world_set(l->w, STACK + 0x100, 0);
    world_set(l->w, STACK + 0x108, l->root + 2);
    CHECK_EQ(world_unwind(l->w, WORLD_GENERATED + 0x100, STACK, STACK + 0x100), 2);
    CHECK_EQ(l->w->state->runtime & XP_SCANNED, 0);
}

/* Callers that have frame pointers need theirs, which generated code may have used for something else. */
TEST(scan_needs_the_frame_pointer_of_some_callers)
{
    AUTO_LOST l = lost_new();
    l->w->rules[2] = (struct xp_rule){.kind = XP_RULE_KIND(XP_CFA_RBP, XP_RBP_CFA), .cfa_off = 16, .rbp_off = -16};
    world_set(l->w, STACK + 16, l->c + 2);
    CHECK_EQ(unwind(l), 1);
    CHECK_EQ(l->w->state->cause, XP_CAUSE_FP_ANON_END);
}

TEST(scan_of_hostile_stacks)
{
    AUTO_LOST l = lost_new();
    u64 x = 88172645463325252ull;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const u64 values[] = {x, l->c + (x >> 50 & 15), WORLD_GENERATED + (x >> 50 & 0xfff), STACK + (x >> 50 & 0xff8)};
        world_set(l->w, STACK + (x >> 20 & 0xff) * 8, values[x & 3]);
        unwind(l);
        CHECK(l->w->state->sample.nuser <= XP_MAX_USER);
    }
}
