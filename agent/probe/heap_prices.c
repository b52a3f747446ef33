/* Measures what probes of kind `memory` cost: those of a function of this program are hit some thousand times. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/own_code.h"
#include "probe/probe.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define CALLS       2000
#define FRAME_NS    2500 /* to take a stack and to follow its block: stated, because it depends on the stack */
#define NOT_A_BLOCK 8    /* which is looked for, and not found */

/* Its first instruction is one that the kernel emulates, as those of allocators mostly are. */
__attribute__((naked, noinline)) static void target(u64 block)
{
    __asm__ volatile("nop\n\tret");
}

static u64 call_ns(void)
{
    u64 from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < CALLS; i++)
        target(NOT_A_BLOCK);
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) / CALLS;
}

int probe_heap_prices(struct probe *p, size_t event, struct probe_heap_hits *out)
{
    u64 offset = own_code_offset((uintptr_t)target);
    struct probe_heap_links begins = {0}, ends = {0};
    int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    if (fd < 0 || !offset) {
        xp_cleanup_close(&fd);
        return -ENOENT;
    }
    struct xp_heap_site frees = {offset, XP_HEAP_CALL(0, 0, 1, 0)}, allocates = {offset, XP_HEAP_CALL(1, 0, 0, 0)};
    struct probe_heap_file first = {.fd = fd, .tgid = (u32)getpid(), .sites = &frees, .n = 1}, all = first;
    all.sites = &allocates;
    u64 one = 0, both = 0;
    int rc = probe_heap_attach(p, event, &first, PROBE_HEAP_FREES, &begins);
    if (!rc)
        one = call_ns();
    probe_heap_detach(&begins, PROBE_HEAP_FREES);
    probe_heap_rest(p, event, 0, true); /* no block is sampled */
    if (!rc)
        rc = probe_heap_attach(p, event, &all, PROBE_HEAP_ALLOCATIONS, &ends);
    if (!rc)
        both = call_ns();
    probe_heap_detach(&ends, PROBE_HEAP_ALLOCATIONS);
    close(fd);
    if (!rc)
        *out = (struct probe_heap_hits){one, both > one ? both - one : 0, FRAME_NS};
    return rc;
}
