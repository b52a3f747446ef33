/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "bpf/host/unwind_host.h"
#include <string.h>

#define XP_INLINE   static inline
#define XP_NOINLINE static
#define XP_UNROLL
#define XP_FORGET(v)

/* What the kernel keeps per CPU is kept per thread here. */
static __thread const struct host_space *space;
static __thread struct xp_state *state;

XP_INLINE struct xp_state *xp_state_get(void)
{
    return state;
}

XP_INLINE u32 xp_shard_word(u32 i)
{
    return i < space->nwords ? space->words[i] : 0;
}

XP_INLINE const struct xp_rule *xp_rule_get(u32 i)
{
    return &space->rules[i & (XP_MAX_RULES - 1)];
}

XP_INLINE struct xp_cache *xp_cache_get(struct xp_state *s)
{
    return NULL;
}

XP_INLINE int xp_read_user(void *to, u32 len, u64 from)
{
    return space->read(space->ctx, to, len, from);
}

static int read_stack(const struct host_space *with, void *to, u32 len, u64 from)
{
    return (with->read_stack ? with->read_stack : with->read)(with->ctx, to, len, from);
}

XP_INLINE int xp_read_stack(void *to, u32 len, u64 from)
{
    return read_stack(space, to, len, from);
}

XP_INLINE u64 xp_tls_base(const struct xp_state *s)
{
    return space->tls;
}

XP_INLINE int xp_find_mapping(u64 pc)
{
    for (size_t i = 0; i < space->nvmas; i++)
        if (pc >= space->vmas[i].start && pc < space->vmas[i].end) {
            state->cur = space->vmas[i];
            return 0;
        }
    return XP_CAUSE_NO_MAPPING;
}

XP_INLINE int xp_jvm_take(struct xp_state *s)
{
    if (!space->machine || space->machine->kind != XP_MACHINE_JVM)
        return 0;
    s->jvm = space->machine->jvm;
    return 1;
}

XP_INLINE int xp_python_take(struct xp_state *s)
{
    if (!space->machine || space->machine->kind != XP_MACHINE_PYTHON)
        return 0;
    s->python = space->machine->python;
    return 1;
}

XP_INLINE int xp_script_take(struct xp_state *s)
{
    if (!space->machine || space->machine->kind != XP_MACHINE_SCRIPT)
        return 0;
    s->script = space->machine->script;
    return 1;
}

XP_INLINE int xp_v8_take(struct xp_state *s)
{
    if (!space->machine || space->machine->kind != XP_MACHINE_V8)
        return space->machine ? -1 : 0;
    s->v8 = space->machine->v8;
    return 1;
}

/* What the kernel keeps for probes is not copied with a stack. */
XP_INLINE int xp_see_through_probe(void)
{
    return 1;
}

/* Nothing changes while a stack is unwound. */
XP_INLINE int xp_still_mapped(u32 i)
{
    return 1;
}

#include "bpf/stack.bpf.h"
#include "bpf/table.bpf.h"
#include "bpf/arch_x86.bpf.h"
#include "bpf/frame.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/go.bpf.h"
#include "bpf/hotspot.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/script.bpf.h"
#include "bpf/v8.bpf.h"
#include "bpf/unwind.bpf.h"

void host_unwind(const struct host_space *with, const struct xp_regs *regs, struct xp_state *out)
{
    space = with;
    state = out;
    memset(&out->sample, 0, sizeof(out->sample));
    out->regs = *regs;
    out->set = 0;
    xp_vma_set_reset(&out->sets[0]);
    memset(out->java_places, 0, sizeof(out->java_places)); /* of another process */
    xp_unwind_reset(out);
    xp_unwind(out);
    state = NULL;
    space = NULL;
}

size_t host_chain(const struct host_space *with, const struct xp_state *from, u32 file, u64 out[HOST_CHAIN_MAX])
{
    u64 bp = from->bp, link[2];
    size_t n = 0;
    for (u32 steps = 0; steps < HOST_CHAIN_MAX && !(bp & 7) && !read_stack(with, link, sizeof(link), bp); steps++) {
        for (size_t i = 0; i < with->nvmas && n < HOST_CHAIN_MAX; i++)
            if (with->vmas[i].file.id == file && link[1] > with->vmas[i].start && link[1] <= with->vmas[i].end)
                out[n++] = link[1] - 1 - with->vmas[i].bias;
        if (link[0] <= bp)
            break;
        bp = link[0];
    }
    return n;
}

int host_is_call(const u8 code[8])
{
    return xp_is_call(code);
}
