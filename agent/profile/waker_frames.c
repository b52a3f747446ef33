#include "profile/waker_frames.h"
#include "base/cleanup.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Beginnings of names. */
static const struct {
    const char *name;
    u8 function;
} TABLE[] = {
    {"bpf_prog_", WAKER_TRACING},
    {"[kernel]", WAKER_TRACING}, /* a program that is gone by now: nothing else lies above bpf_trace_run */
    {"bpf_trace_run", WAKER_TRACING},
    {"bpf_trampoline_", WAKER_TRACING},
    {"bpf_get_stack", WAKER_TRACING},
    {"__bpf_trace_", WAKER_TRACING},
    {"__traceiter_", WAKER_TRACING},
    {"asm_sysvec_", WAKER_INTERRUPT},
    {"sysvec_", WAKER_INTERRUPT},
    {"__sysvec_", WAKER_INTERRUPT},
    {"asm_common_interrupt", WAKER_INTERRUPT},
    {"common_interrupt", WAKER_INTERRUPT},
    {"__common_interrupt", WAKER_INTERRUPT},
    {"asm_spurious_interrupt", WAKER_INTERRUPT},
    {"asm_call_irq_on_stack", WAKER_INTERRUPT},    /* up to Linux 5.11 */
    {"asm_call_sysvec_on_stack", WAKER_INTERRUPT}, /* the same */
};

u8 waker_function(const char *name)
{
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(TABLE[0]); i++)
        if (!strncmp(name, TABLE[i].name, strlen(TABLE[i].name)))
            return TABLE[i].function;
    return WAKER_OTHER;
}

/* By location. */
static u8 *read_functions(const struct profile *p)
{
    u8 *out = calloc(p->locations.n + 1, 1);
    for (size_t i = 0; out && i < p->locations.n; i++) {
        const struct prof_location *l = &p->locations.v[i];
        if (l->origin == FRAME_KERNEL)
            out[i] = waker_function(profile_function(p, l));
    }
    return out;
}

/* Leaves out n frames in front of `end`. */
static void leave_out(u32 *frames, size_t end, size_t n)
{
    memmove(frames + n, frames, (end - n) * sizeof(*frames));
}

/* The waker's frames are root first: n of them. Returns how many are left out at the beginning of the stack. */
static u32 trim(u32 *frames, u32 n, const u8 *functions, u32 interrupt)
{
    u32 tracing = 0, at = n;
    while (tracing < n && functions[frames[n - 1 - tracing]] == WAKER_TRACING)
        tracing++;
    leave_out(frames, n, tracing);
    while (at > tracing && functions[frames[at - 1]] != WAKER_INTERRUPT)
        at--;
    while (at > tracing && functions[frames[at - 1]] == WAKER_INTERRUPT)
        at--;
    bool found = at < n && functions[frames[at]] == WAKER_INTERRUPT;
    if (!found || at == tracing) /* without a frame whose place could be taken, nothing is known of anybody else */
        return tracing;
    frames[at - 1] = interrupt;
    return at - 1;
}

static bool same_stack(const struct profile *p, const struct prof_stack *x, const struct prof_stack *y)
{
    const u32 *all = p->stack_locations.v;
    return x->process == y->process && x->cause == y->cause && x->event == y->event && x->n == y->n &&
           !memcmp(all + x->first, all + y->first, x->n * sizeof(*all));
}

/* Stacks are sorted from the root, so those that differed only in the interrupted task are neighbours. */
static void merge_stacks(struct profile *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->stacks.n; i++) {
        const struct prof_stack *s = &p->stacks.v[i];
        struct prof_stack *to = n ? &p->stacks.v[n - 1] : NULL;
        if (!to || !same_stack(p, to, s)) {
            p->stacks.v[n++] = *s;
            continue;
        }
        stack_add(to, s);
    }
    p->stacks.n = n;
}

int waker_frames_trim(struct profile *p, const struct waker_place *places, size_t n, u32 interrupt)
{
    AUTO_FREE u8 *functions = n ? read_functions(p) : NULL;
    if (n && !functions)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct prof_stack *s = &p->stacks.v[places[i].stack];
        u32 out = trim(p->stack_locations.v + s->first, places[i].n, functions, interrupt);
        s->first += out;
        s->n -= out;
    }
    if (n)
        merge_stacks(p);
    return 0;
}
