/* Code that .NET compiled: its frames are addresses, in two words. */
#include "cfi/unwind_fixture.h"

#define STACK     (WORLD_MEMORY + 0x200)
#define GENERATED 0x20000ull /* anonymous memory */
#define FRAMES    3          /* of it, above which there is C */

struct net {
    struct world *w;
    struct xp_vma vmas[2];
    struct xp_machine machine;
};

static void net_free(struct net **n)
{
    if (*n)
        world_free(&(*n)->w);
    free(*n);
}
#define AUTO_NET CLEANUP(net_free) struct net *

/* Each frame keeps the frame pointer of its caller. */
static struct net *net_new(u8 language)
{
    struct net *n = calloc(1, sizeof(*n));
    n->w = world_new();
    u64 root = world_add(n->w, (struct xp_rule){.kind = XP_CFA_END});
    n->vmas[0] = n->w->vma;
    n->vmas[1] = (struct xp_vma){.start = GENERATED, .end = GENERATED + 0x1000, .file.state = XP_FILE_FP};
    n->w->space.vmas = n->vmas;
    n->w->space.nvmas = 2;
    n->machine.kind = XP_MACHINE_SCRIPT;
    n->machine.script.language = language;
    n->w->space.machine = &n->machine;
    for (u64 i = 0; i < FRAMES; i++) {
        world_set(n->w, STACK + 32 * i, STACK + 32 * (i + 1));
        world_set(n->w, STACK + 32 * i + 8, i < FRAMES - 1 ? GENERATED + 0x200 + 0x100 * i : root + 2);
    }
    return n;
}

static u32 unwind(struct net *n)
{
    return world_unwind(n->w, GENERATED + 0x100, STACK - 16, STACK);
}

TEST(dotnet_frames_have_two_words)
{
    AUTO_NET n = net_new(XP_LANGUAGE_DOTNET);
    const u64 *w = n->w->state->words;
    CHECK_EQ(unwind(n), 2 * FRAMES + 1);
    CHECK_EQ(n->w->state->cause, XP_CAUSE_END);
    for (u32 i = 0; i < FRAMES; i++) {
        CHECK_EQ(w[2 * i] & ~XP_WORD_EXACT, XP_SCRIPT_WORD(XP_LANGUAGE_DOTNET, GENERATED + 0x100 + 0x100 * i));
        CHECK_EQ(w[2 * i] & XP_WORD_EXACT, i ? 0 : XP_WORD_EXACT);
        CHECK_EQ(w[2 * i + 1], XP_MORE_WORD(0, 0));
    }
    CHECK(n->w->state->runtime & XP_RUNTIME_NEWS);
}

TEST(dotnet_is_not_what_other_processes_run)
{
    AUTO_NET perl = net_new(XP_LANGUAGE_PERL);
    AUTO_NET none = net_new(XP_LANGUAGE_DOTNET);
    none->w->space.machine = NULL;
    struct net *all[] = {perl, none};
    for (u32 i = 0; i < 2; i++) {
        CHECK_EQ(unwind(all[i]), FRAMES + 1);
        CHECK_EQ(all[i]->w->state->words[0], (GENERATED + 0x100) | XP_WORD_EXACT);
        CHECK_EQ(XP_WORD_KIND(all[i]->w->state->words[1]), XP_WORD_ANON);
    }
}
