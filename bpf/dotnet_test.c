/* Code that .NET compiled: its frames are addresses, in two words. */
#include "cfi/unwind_fixture.h"

#define STACK  (WORLD_MEMORY + 0x200)
#define FRAMES 3 /* of it, above which there is C */

struct net {
    struct world *w;
    struct xp_vma vmas[3]; /* the last one is a test's own */
    struct xp_machine machine;
    u64 root; /* code in a file */
};

static void net_free(struct net **n)
{
    if (*n)
        world_free(&(*n)->w);
    free(*n);
}
#define AUTO_NET CLEANUP(net_free) struct net *

/* Where calls of JIT_Patchpoint end, with a near counter and a far one, and that of a small method. */
#define NEAR  (WORLD_GENERATED + 0x800)
#define FAR   (WORLD_GENERATED + 0x900)
#define SMALL (WORLD_GENERATED + 0xc00)
static const struct code {
    u64 at;
    u8 bytes[17];
    u32 n;
} CODE[] = {
    {NEAR - 17, {0x90, 0x90, 0x90, 0x48, 0x8d, 0x7d, 0xc0, 0xbe, 1, 0, 0, 0, 0xe8, 0, 0, 0, 0}, 17},
    {FAR - 17, {0x48, 0x8d, 0xbd, 0, 1, 0, 0, 0xbe, 1, 0, 0, 0, 0xe8, 0, 0, 0, 0}, 17},
    {SMALL, {0x90, 0x48, 0x83, 0xc4, 0x08, 0xc3, 0x90, 0x90}, 8},
};

/* Each address of code follows a call. */
static int read_code(void *ctx, void *to, u32 len, u64 from)
{
    static const u8 call[17] = {0x90, 0x90, 0x90, 0xe8};
    const u8 *bytes = call;
    if (from < WORLD_GENERATED || from > WORLD_TEXT + 0x1000 || len > sizeof(call))
        return world_read(ctx, to, len, from);
    for (size_t i = 0; i < sizeof(CODE) / sizeof(*CODE); i++)
        if (from == CODE[i].at && len == CODE[i].n)
            bytes = CODE[i].bytes;
    memcpy(to, bytes, len);
    return 0;
}

/* Each frame keeps the frame pointer of its caller. */
static struct net *net_new(u8 language)
{
    struct net *n = calloc(1, sizeof(*n));
    n->w = world_new();
    n->root = world_add(n->w, (struct xp_rule){.kind = XP_CFA_END});
    world_map_generated(n->w, n->vmas);
    n->w->space.read = read_code;
    n->w->space.read_stack = world_read;
    n->machine.kind = XP_MACHINE_SCRIPT;
    n->machine.script.language = language;
    n->w->space.machine = &n->machine;
    for (u64 i = 0; i < FRAMES; i++) {
        world_set(n->w, STACK + 32 * i, STACK + 32 * (i + 1));
        world_set(n->w, STACK + 32 * i + 8, i < FRAMES - 1 ? WORLD_GENERATED + 0x200 + 0x100 * i : n->root + 2);
    }
    return n;
}

static u32 unwind(struct net *n)
{
    return world_unwind(n->w, WORLD_GENERATED + 0x100, STACK - 16, STACK);
}

TEST(dotnet_frames_have_two_words)
{
    AUTO_NET n = net_new(XP_LANGUAGE_DOTNET);
    const u64 *w = n->w->state->words;
    CHECK_EQ(unwind(n), 2 * FRAMES + 1);
    CHECK_EQ(n->w->state->cause, XP_CAUSE_END);
    for (u32 i = 0; i < FRAMES; i++) {
        CHECK_EQ(w[2 * i] & ~XP_WORD_EXACT, XP_SCRIPT_WORD(XP_LANGUAGE_DOTNET, WORLD_GENERATED + 0x100 + 0x100 * i));
        CHECK_EQ(w[2 * i] & XP_WORD_EXACT, i ? 0 : XP_WORD_EXACT);
        CHECK_EQ(w[2 * i + 1], XP_MORE_WORD(0, 0));
    }
    CHECK(n->w->state->runtime & XP_RUNTIME_NEWS);
}

/* Code that replaced the method's own in a loop: its frame is below that of the method, and has saved the same frame
 * pointer; between them is the return address that the call of JIT_Patchpoint left. */
TEST(dotnet_frames_that_replaced_others_are_one_with_them)
{
    static const u64 at[] = {NEAR, FAR, FAR + 0x100}; /* the last one is another call */
    for (u32 i = 0; i < 3; i++) {
        AUTO_NET n = net_new(XP_LANGUAGE_DOTNET);
        u64 own = STACK + 0x180, osr = own - 0x50;
        world_set(n->w, osr, STACK + 0x200);
        world_set(n->w, osr + 8, at[i]);
        world_set(n->w, osr + 24, STACK + 0x200); /* a local has the same value */
        world_set(n->w, own, STACK + 0x200);
        world_set(n->w, own + 8, WORLD_GENERATED + 0x300);
        world_set(n->w, STACK + 0x200, STACK + 0x280);
        world_set(n->w, STACK + 0x208, n->root + 2);
        CHECK_EQ(world_unwind(n->w, WORLD_GENERATED + 0x100, osr - 16, osr), 5);
        u64 caller = i < 2 ? WORLD_GENERATED + 0x300 : at[i];
        CHECK_EQ(n->w->state->words[2], XP_SCRIPT_WORD(XP_LANGUAGE_DOTNET, caller));
        CHECK_EQ(n->w->state->cause, XP_CAUSE_END);
    }
}

/* A small method has no frame pointer, but ends behind its only call. */
TEST(dotnet_methods_without_frame_pointer_have_their_caller)
{
    for (u32 i = 0; i < 3; i++) { /* generated; in a file that is no ELF file; in one that is */
        AUTO_NET n = net_new(XP_LANGUAGE_DOTNET);
        if (i) {
            n->w->space.nvmas = 3;
            n->vmas[1].end = SMALL - 0x80;
            n->vmas[2] = (struct xp_vma){.start = SMALL - 0x80, .end = SMALL + 0x80, .bias = SMALL};
            n->vmas[2].file = (struct xp_file){.id = 77, .state = XP_FILE_FP, .flags = i == 1 ? XP_FILE_NO_ELF : 0};
        }
        world_set(n->w, STACK, STACK + 0x100); /* the small method left the frame pointer as it was */
        world_set(n->w, STACK + 8, SMALL);
        world_set(n->w, STACK + 24, WORLD_GENERATED + 0x300);
        world_set(n->w, STACK + 0x100, STACK + 0x180);
        world_set(n->w, STACK + 0x108, n->root + 2);
        u32 words = unwind(n);
        CHECK_EQ(words, i == 0 ? 7 : i == 1 ? 6 : 4);
        CHECK_EQ(n->w->state->words[words - 1] & ~15ull,
                 XP_FILE_WORD(XP_WORD_FP, XP_FILE_FIRST, n->root - WORLD_TEXT) & ~15ull);
        if (i < 2)
            CHECK_EQ(n->w->state->words[words - 3], XP_SCRIPT_WORD(XP_LANGUAGE_DOTNET, WORLD_GENERATED + 0x300));
    }
}

TEST(dotnet_is_not_what_other_processes_run)
{
    AUTO_NET perl = net_new(XP_LANGUAGE_PERL);
    AUTO_NET none = net_new(XP_LANGUAGE_DOTNET);
    none->w->space.machine = NULL;
    struct net *all[] = {perl, none};
    for (u32 i = 0; i < 2; i++) {
        CHECK_EQ(unwind(all[i]), FRAMES + 1);
        CHECK_EQ(all[i]->w->state->words[0], (WORLD_GENERATED + 0x100) | XP_WORD_EXACT);
        CHECK_EQ(XP_WORD_KIND(all[i]->w->state->words[1]), XP_WORD_ANON);
    }
}
