/* Dispatches the records of the ring by their first word (enum xp_record in bpf/xprof.h). */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "bpf/heap.h"
#include "bpf/sums.h"
#include <stdbool.h>
#include <stddef.h>

struct probe_handlers {
    void *ctx;
    void (*sample)(void *ctx, const struct xp_sample *s, size_t len);
    void (*stack)(void *ctx, const struct xp_sample *s, size_t len); /* XP_RECORD_STACK; only if waits are followed */
    void (*file)(void *ctx, const struct xp_file_event *e);
    void (*dump)(void *ctx, const struct xp_dump *d);
    void (*mapped)(void *ctx, const struct xp_mapped_event *e); /* only if allocations are counted */
    void (*tag)(void *ctx, const struct xp_tag_event *e);       /* only if some kind has tags */
    void (*code)(void *ctx, const struct xp_code_event *e);     /* may be NULL */
    void (*cgroup)(void *ctx, const struct xp_cgroup_event *e); /* only with config.cgroup_events */
};
/* Passes one record to its handler. False: it is shorter than its type requires, or of unknown type. */
bool record_dispatch(const struct probe_handlers *h, const void *data, size_t len);
