/* A thread whose stack has calls of the loop of an interpreter, with room for its lists of frames: for tests of
 * script.bpf.h. */
#pragma once
#include "cfi/unwind_fixture.h"

#define TLS        WORLD_MEMORY
#define STATE      (TLS + 0x080)
#define FRAMES     (TLS + 0x100) /* all of them, 8 at most */
#define OTHER      (TLS + 0x500) /* a second list */
#define CODE(n)    (TLS + 0x600 + 0x40 * (n))
#define BODY(n)    (TLS + 0x800 + 0x40 * (n))
#define PC(n)      (TLS + 0xa00 + 0x40 * (n)) /* where frame n is */
#define STACK      (TLS + 0xc00)
#define LOOP_BYTES 64 /* of the frame of a call of the loop */
#define C_BYTES    32 /* of what it calls */
#define SLOT       0x40

struct script {
    struct world *w;
    struct xp_machine machine;
    u64 root, loop, c; /* code: the outermost frame, the loop, and a function that it calls, which calls it */
};

static inline void script_free(struct script **s)
{
    if (*s)
        world_free(&(*s)->w);
    free(*s);
}
#define AUTO_SCRIPT CLEANUP(script_free) struct script *

/* The stack, leaf first: a call of the loop, a C function, another call of the loop. */
static inline struct script *script_new(const struct xp_script *as)
{
    struct script *s = calloc(1, sizeof(*s));
    s->w = world_new();
    s->machine = (struct xp_machine){.kind = XP_MACHINE_SCRIPT, .script = *as};
    s->w->space.machine = &s->machine;
    s->w->space.tls = TLS;
    s->w->vma.file.flags = XP_TABLE_OF_LANGUAGE(as->language);
    s->root = world_add(s->w, (struct xp_rule){.kind = XP_CFA_END});
    s->loop = world_add(s->w, (struct xp_rule){.kind = XP_CFA_RSP_LOOP, .cfa_off = LOOP_BYTES});
    s->c = world_add(s->w, (struct xp_rule){.kind = XP_CFA_RSP, .cfa_off = C_BYTES});
    world_set(s->w, TLS + SLOT, STATE);
    world_set(s->w, STACK + LOOP_BYTES - 8, s->c + 2);
    world_set(s->w, STACK + LOOP_BYTES + C_BYTES - 8, s->loop + 2);
    world_set(s->w, STACK + LOOP_BYTES + C_BYTES + LOOP_BYTES - 8, s->root + 2);
    return s;
}

static inline u32 unwind(struct script *s)
{
    return world_unwind(s->w, s->loop + 2, STACK, 0);
}

static inline bool frame_is(const struct script *s, u32 word, u64 address, u32 cookie, u32 position)
{
    const u64 *w = s->w->state->words + word;
    return XP_IS_SCRIPT(w[0], s->machine.script.language) && XP_WORD_ADDR(w[0]) == address &&
           XP_WORD_KIND(w[1]) == XP_WORD_MORE && XP_MORE_COOKIE(w[1]) == cookie && XP_MORE_POSITION(w[1]) == position;
}

static inline bool native_is(const struct script *s, u32 word, u64 code)
{
    u64 w = s->w->state->words[word];
    return XP_WORD_KIND(w) == XP_WORD_CFI && (XP_WORD_OFFSET(w) & ~15ull) == code - WORLD_TEXT;
}

/* Lists without end, and frames that cannot be read: whatever is there, stacks are bounded. */
static inline bool hostile_stacks_are_bounded(struct script *s)
{
    u64 x = 88172645463325252ull;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        world_set(s->w, TLS + (x >> 20 & 0x17f) * 8, x & 1 ? FRAMES + 8 * (x >> 40 & 63) : x);
        if (unwind(s) > XP_MAX_USER)
            return false;
    }
    return true;
}
