/* A perf event on one thread, of which the first sample is all that is wanted. The kernel copies registers and stack at
 * the same instant, so they fit together although the thread runs on. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "probe/tasks.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_PAGES  64    /* one sample with its stack, and a few more in case the clock is fast */
#define STACK_BYTES 65528 /* the most that perf copies: a multiple of 8 below 64 KiB */
#define PERIOD_NS   100000

/* enum perf_event_x86_regs (arch/x86/include/uapi/asm/perf_regs.h) by DWARF number: rax rdx rcx rbx rsi rdi rbp rsp
 * r8..r15 rip. A sample holds those that were asked for by ascending perf number. */
static const u8 perf_number[17] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};

static u64 regs_mask(void)
{
    u64 mask = 0;
    for (size_t i = 0; i < sizeof(perf_number); i++)
        mask |= 1ull << perf_number[i];
    return mask;
}

static int open_event(u32 tid)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = PERIOD_NS,
        .sample_type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .exclude_callchain_user = 1,
        .sample_regs_user = regs_mask(),
        .sample_stack_user = STACK_BYTES,
        .wakeup_events = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, (pid_t)tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static void read_kernel(struct cursor *c, struct caught *out)
{
    u64 n = cursor_u64(c);
    bool kernel = false;
    for (u64 i = 0; i < n && !c->bad; i++) {
        u64 ip = cursor_u64(c);
        if (ip >= PERF_CONTEXT_MAX) /* a mark: whose frames follow */
            kernel = ip == (u64)PERF_CONTEXT_KERNEL;
        else if (kernel && out->nkernel < XP_TASK_KERNEL)
            out->kernel[out->nkernel++] = ip;
    }
}

static void read_regs(struct cursor *c, struct caught *out)
{
    u64 mask = regs_mask();
    out->user = cursor_u64(c) == PERF_SAMPLE_REGS_ABI_64;
    for (unsigned bit = 0; out->user && bit < 64; bit++)
        if (mask >> bit & 1) {
            u64 value = cursor_u64(c);
            for (size_t i = 0; i < sizeof(perf_number); i++)
                if (perf_number[i] == bit)
                    out->regs.r[i] = value;
        }
}

/* perf_event_open(2), PERF_RECORD_SAMPLE. */
static int read_sample(struct cursor *c, struct caught *out)
{
    struct caught s = {0};
    read_kernel(c, &s);
    read_regs(c, &s);
    u64 size = s.user ? cursor_u64(c) : 0;
    const u8 *stack = cursor_take(c, size);
    u64 used = size ? cursor_u64(c) : 0;
    if (c->bad || used > size)
        return -EBADMSG;
    s.stack = malloc(used ? used : 1);
    if (!s.stack)
        return -ENOMEM;
    memcpy(s.stack, stack, used);
    s.nstack = used;
    *out = s;
    return 0;
}

/* The first sample in the ring, copied, for it may lie across the ring's end. -EAGAIN: none yet. */
static int take_sample(struct perf_event_mmap_page *head, size_t page, struct caught *out)
{
    const u8 *data = (const u8 *)head + page;
    u64 size = (u64)RING_PAGES * page, end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE), at = head->data_tail;
    while (at + sizeof(struct perf_event_header) <= end) {
        struct perf_event_header h;
        AUTO_FREE u8 *copy = NULL;
        for (size_t i = 0; i < sizeof(h); i++)
            ((u8 *)&h)[i] = data[(at + i) % size];
        if (h.size < sizeof(h) || at + h.size > end || !(copy = malloc(h.size)))
            return -EBADMSG;
        for (size_t i = 0; i < h.size; i++)
            copy[i] = data[(at + i) % size];
        struct cursor c = cursor_of(copy + sizeof(h), h.size - sizeof(h));
        if (h.type == PERF_RECORD_SAMPLE)
            return read_sample(&c, out);
        at += h.size;
    }
    return -EAGAIN;
}

int task_catch(u32 tid, unsigned timeout_ms, struct caught *out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), len = (RING_PAGES + 1) * page;
    u64 deadline = now_ns() + timeout_ms * 1000000ull;
    AUTO_CLOSE int fd = open_event(tid);
    if (fd < 0)
        return fd;
    void *ring = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ring == MAP_FAILED)
        return -errno;
    int rc = -EAGAIN;
    while (rc == -EAGAIN && now_ns() < deadline) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        poll(&p, 1, 1);
        rc = take_sample(ring, page, out);
    }
    munmap(ring, len);
    return rc == -EAGAIN ? -ETIMEDOUT : rc;
}

void caught_free(struct caught *c)
{
    free(c->stack);
    *c = (struct caught){0};
}
