/* The environment of unwinder tests: a program of one page, in which each rule applies to 16 bytes, and a page of
 * memory for its stacks. */
#pragma once
#include "base/cleanup.h"
#include "base/test.h"
#include "bpf/host/unwind_host.h"
#include <stdlib.h>
#include <ucontext.h>

#define WORLD_TEXT   0x400000ull
#define WORLD_MEMORY 0x10000ull
#define WORLD_WORDS  512 /* a page: windows end where pages do */
#define WORLD_RULES  16

struct world {
    u64 memory[WORLD_WORDS];
    u32 words[2 + WORLD_RULES + 1]; /* the index of one block, and rows */
    _Alignas(u64) struct xp_rule rules[WORLD_RULES + 1];
    u32 n;
    struct xp_vma vma;
    struct host_space space;
    struct xp_regs regs; /* registers of the leaf */
    struct xp_state *state;
};

static inline int world_read(void *ctx, void *to, u32 len, u64 from)
{
    const struct world *w = ctx;
    if (from < WORLD_MEMORY || from - WORLD_MEMORY > sizeof(w->memory) ||
        len > sizeof(w->memory) - (from - WORLD_MEMORY))
        return 1;
    memcpy(to, (const u8 *)w->memory + (from - WORLD_MEMORY), len);
    return 0;
}

/* Sets the word of memory at an address. */
static inline void world_set(struct world *w, u64 at, u64 value)
{
    w->memory[(at - WORLD_MEMORY) / 8] = value;
}

/* Gives the next 16 bytes of code this rule. Returns the address of the first byte. */
static inline u64 world_add(struct world *w, struct xp_rule r)
{
    u32 i = ++w->n;
    w->rules[i] = r;
    w->words[1 + i] = i * 16 | i << 16;
    w->words[1] = 2 + i;
    return WORLD_TEXT + i * 16;
}

static inline void world_free(struct world **w)
{
    if (*w)
        free((*w)->state);
    free(*w);
}
#define AUTO_WORLD CLEANUP(world_free) struct world *

static inline struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof(*w));
    w->state = calloc(1, sizeof(*w->state));
    w->words[0] = 2; /* there is no row before the first one: the word before it serves as one */
    w->vma = (struct xp_vma){.start = WORLD_TEXT, .end = WORLD_TEXT + 0x1000, .bias = WORLD_TEXT};
    w->vma.file = (struct xp_file){.id = XP_FILE_FIRST, .state = XP_FILE_READY, .uid = 1, .nblocks = 1};
    w->space = (struct host_space){
        .words = w->words,
        .nwords = sizeof(w->words) / sizeof(*w->words),
        .rules = w->rules,
        .vmas = &w->vma,
        .nvmas = 1,
        .read = world_read,
        .ctx = w,
    };
    return w;
}

#define WORLD_GENERATED 0x20000ull /* a page of code of no file */

/* Maps that beside the program. `vmas`: room for both. */
static inline void world_map_generated(struct world *w, struct xp_vma vmas[2])
{
    vmas[0] = w->vma;
    vmas[1] = (struct xp_vma){.start = WORLD_GENERATED, .end = WORLD_GENERATED + 0x1000, .file.state = XP_FILE_FP};
    w->space.vmas = vmas;
    w->space.nvmas = 2;
}

/* Unwinds a stack whose leaf is at `ip`. Returns the number of frames. */
static inline u32 world_unwind(struct world *w, u64 ip, u64 sp, u64 bp)
{
    w->regs.r[16] = ip;
    w->regs.r[7] = sp;
    w->regs.r[6] = bp;
    host_unwind(&w->space, &w->regs, w->state);
    return w->state->sample.nuser;
}

/* The registers of a context, by their DWARF numbers. */
static inline void regs_of_context(const ucontext_t *u, struct xp_regs *out)
{
    static const int greg[17] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                 REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (int i = 0; i < 17; i++)
        out->r[i] = (u64)u->uc_mcontext.gregs[greg[i]];
}
