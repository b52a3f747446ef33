/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Locks of Go (event lock). A goroutine that waits for a sync.Mutex or sync.RWMutex leaves its thread, which goes on
 * with another one, so the kernel sees nothing of it. But all such waits are calls of runtime.semacquire1: user space
 * attaches xp_on_go_wait to its beginning in wanted processes, and xp_on_go_end to where it ends: to a return, or the
 * last call before one (agent/runtime/go_locks.c). Probes on returns, as C has them, would change return addresses,
 * which Go's stacks do not survive when they are moved.
 *
 * A wait belongs to its goroutine: it may end on another thread. It is counted, with its stack, when it ends: by then
 * it is known whether it is worth a stack.
 */
#define XP_SLOTTED
#define XP_IN_BODIES
#include "bpf/kind.bpf.h"
#include "bpf/lock.bpf.h"
#include "bpf/mapped.bpf.h"
#include "bpf/goroutines.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_MAX_GOROUTINES);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct xp_goroutine_key);
    __type(value, struct xp_goroutine);
} goroutines SEC(".maps");

/* Cgroup -> number of its goroutines in that map, which user space puts right once per interval. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, XP_WAIT_GROUPS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, u64);
    __type(value, u64);
} goroutine_groups SEC(".maps");

/* Registers with arguments, and that of the goroutine (Go's src/cmd/compile/abi-internal.md): places in struct
 * pt_regs. */
enum { XP_GO_G = 1, XP_GO_ARG_3 = 11, XP_GO_ARG_1 = 10, XP_GO_ARG_4 = 14 };

#define XP_GO_IS_LOCK 2 /* bit of the third argument: whatever has it is in Go's profile of mutexes */

/* ---- Which one it is -----------------------------------------------------------------------------------------------
 */

/* The first argument is the address of a semaphore in the lock (Go's src/sync/mutex.go and rwmutex.go):
 *
 *     Mutex   s32 state; u32 sema
 *     RWMutex Mutex w; u32 writerSem, readerSem; s32 readerCount, readerWait
 *
 * Only those of an RWMutex skip no frames (the fourth argument) in Go's own profile. Its readerCount is negative while
 * a writer waits or has it. */
XP_INLINE u64 xp_go_lock_of(u64 semaphore, u64 skipped)
{
    s32 behind[2] = {};
    if (skipped)
        return semaphore - 4;
    xp_read_user(behind, sizeof(behind), semaphore + 4);
    return semaphore - (behind[0] >= 0 && behind[1] < 0 ? 8 : 12);
}

/* ---- Waits ---------------------------------------------------------------------------------------------------------
 */

/* Whether a cgroup may have one more. */
XP_INLINE int xp_go_has_share(u64 cgroup)
{
    u64 one = 1, *n = xp_config.wait_shares ? bpf_map_lookup_elem(&goroutine_groups, &cgroup) : 0;
    if (!xp_config.wait_shares)
        return 1;
    if (!n)
        return !bpf_map_update_elem(&goroutine_groups, &cgroup, &one, BPF_ANY);
    if (*n >= XP_MAX_GOROUTINES / XP_WAIT_SHARE)
        return 0;
    __sync_fetch_and_add(n, 1);
    return 1;
}

XP_INLINE void xp_go_give_share(u64 cgroup)
{
    u64 *n = xp_config.wait_shares ? bpf_map_lookup_elem(&goroutine_groups, &cgroup) : 0;
    if (n && *n)
        __sync_fetch_and_add(n, -1);
}

/* A function whose stack is too small starts again with another one. */
SEC("kprobe")
int xp_on_go_wait(void *ctx)
{
    const volatile u64 *pt = ctx;
    struct xp_goroutine_key key = {.g = pt[XP_GO_G]};
    struct xp_goroutine w = {};
    if (!(pt[XP_GO_ARG_3] & XP_GO_IS_LOCK) || !xp_is_wanted())
        return 0;
    key.space = xp_space();
    w.cgroup = xp_cgroup_id();
    if (xp_config.target == XP_TARGET_CGROUP)
        w.want = xp_want_of(w.cgroup, (struct task_struct *)bpf_get_current_task());
    w.lock = xp_go_lock_of(pt[XP_GO_ARG_1], pt[XP_GO_ARG_4]);
    w.tgid = bpf_get_current_pid_tgid() >> 32;
    w.since = bpf_ktime_get_ns();
    if (!bpf_map_update_elem(&goroutines, &key, &w, BPF_EXIST))
        return 0;
    if (!xp_go_has_share(w.cgroup) || bpf_map_update_elem(&goroutines, &key, &w, BPF_ANY))
        xp_lose(XP_LOSS_WAIT);
    return 0;
}

/* Counts a wait for a lock. The scratch state is that of its end. */
XP_INLINE void xp_go_count(struct xp_state *s, u64 lock, u64 ns, u64 min)
{
    if (ns >= min && xp_stack_here(0, s))
        return;
    if (ns < min && xp_tell_nobody(xp_cgroup_id(), 0)) {
        xp_lose(XP_LOSS_WAIT);
        return;
    }
    u64 stack = s->hash, word;
    s->first.r[XP_RSP] = 0; /* stacks of goroutines are in the same memory as the heap */
    word = xp_lock_word(lock);
    xp_no_amounts(s);
    s->amounts[0].count = 1;
    s->amounts[0].value = ns;
    xp_count_for(stack, word, s->sample.cgroup);
}

SEC("kprobe")
int xp_on_go_end(void *ctx)
{
    const volatile u64 *pt = ctx;
    struct xp_goroutine_key key = {.g = pt[XP_GO_G], .space = xp_space()};
    struct xp_goroutine *found = bpf_map_lookup_elem(&goroutines, &key);
    if (!found || xp_live.ends)
        return 0;
    u64 ns = bpf_ktime_get_ns() - found->since, lock = found->lock, cgroup = found->cgroup;
    u64 min = xp_wait_min(found->want, 1);
    if (bpf_map_delete_elem(&goroutines, &key))
        return 0;
    xp_go_give_share(cgroup);
    struct xp_state *s = xp_begin_level();
    if (!s)
        return 0;
    xp_go_count(s, lock, ns, min);
    xp_end_level();
    return 0;
}
