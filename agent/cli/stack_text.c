#include "cli/stack.h"
#include "profile/frames.h"
#include "profile/text.h"
#include <errno.h>
#include <string.h>

static int by_tid(const void *a, const void *b)
{
    const struct stacks_thread *x = a, *y = b;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The stack of a thread; NULL: none. */
static const struct prof_stack *stack_of(const struct profile *p, u32 tid)
{
    for (size_t i = 0; i < p->stacks.n; i++)
        if (p->processes.v[p->stacks.v[i].process].tgid == tid)
            return &p->stacks.v[i];
    return NULL;
}

/* In the order of their numbers; `add` is called with the frames of each, root first. */
static int for_each(const struct profile *p, const struct stacks_list *threads, struct buf *out,
                    void (*add)(const struct profile *p, const struct stacks_thread *t, const struct prof_stack *s,
                                const struct frames *f, struct buf *out))
{
    struct frames frames = {0};
    int rc = 0;
    qsort(threads->v, threads->n, sizeof(*threads->v), by_tid);
    for (size_t i = 0; i < threads->n && !rc; i++) {
        const struct prof_stack *s = stack_of(p, threads->v[i].tid);
        rc = s ? frames_of(p, s, &frames) : 0;
        if (s && !rc)
            add(p, &threads->v[i], s, &frames, out);
    }
    vec_free(&frames);
    return rc ? rc : out->failed ? -ENOMEM : 0;
}

static const char *state_text(const struct stacks_thread *t)
{
    switch (t->state) {
    case 'R':
        return t->running ? "running" : "ready to run";
    case 'S':
        return "sleeping";
    case 'D':
        return "in uninterruptible sleep";
    case 'T':
        return "stopped";
    case 't':
        return "stopped by a debugger";
    case 'Z':
    case 'X':
        return "exiting";
    default:
        return "idle";
    }
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static void add_frame(const struct profile *p, const struct frame *f, unsigned number, struct buf *out)
{
    if (f->inlined)
        buf_str(out, "       ");
    else
        buf_printf(out, "  #%-3u ", number);
    text_clean(out, frame_text(p, f->name), 0, 0);
    if (f->inlined)
        buf_str(out, " (inlined)");
    if (f->file) {
        buf_str(out, "  ");
        text_clean(out, profile_text(p, f->file), 0, 0);
        if (f->line)
            buf_printf(out, ":%u", f->line);
    }
    if (f->module && f->kind != FRAME_JIT) {
        buf_str(out, "  ");
        text_clean(out, f->kind == FRAME_KERNEL ? "[kernel]" : text_base(profile_text(p, f->module)), 0, 0);
    }
    buf_char(out, '\n');
}

static void add_text(const struct profile *p, const struct stacks_thread *t, const struct prof_stack *s,
                     const struct frames *f, struct buf *out)
{
    unsigned number = 0;
    buf_printf(out, "thread %u \"", t->tid);
    text_clean(out, profile_text(p, p->processes.v[s->process].name), '"', '\'');
    buf_printf(out, "\" %s%s\n", state_text(t), t->moved ? ", and continued to run while its stack was read" : "");
    for (size_t i = f->n; i-- > 1;) {
        const struct frame *at = &f->v[i];
        if (at->kind != FRAME_MARK)
            add_frame(p, at, number, out);
        number += !at->inlined;
    }
    if (cause_class(s->cause) != 'c' && s->cause != XP_CAUSE_KTHREAD)
        buf_printf(out, "  cut: %s\n", cause_text(s->cause));
    buf_char(out, '\n');
}

int stack_text(const struct profile *p, const struct stacks_list *threads, struct buf *out)
{
    return for_each(p, threads, out, add_text);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_json_frame(const struct profile *p, const struct frame *f, u64 address, struct buf *out)
{
    static const char *const kinds[] = {[FRAME_NATIVE] = "native", [FRAME_KERNEL] = "kernel", [FRAME_JIT] = "jit"};
    buf_str(out, "{\"function\":");
    buf_json(out, frame_text(p, f->name));
    buf_printf(out, ",\"kind\":\"%s\",\"inlined\":%s", kinds[f->kind], f->inlined ? "true" : "false");
    if (f->file) {
        buf_str(out, ",\"file\":");
        buf_json(out, profile_text(p, f->file));
        buf_printf(out, ",\"line\":%u", f->line);
    }
    buf_str(out, ",\"module\":");
    buf_json(out, profile_text(p, f->module));
    buf_printf(out, ",\"address\":\"0x%llx\"}", (unsigned long long)address);
}

static void add_json(const struct profile *p, const struct stacks_thread *t, const struct prof_stack *s,
                     const struct frames *f, struct buf *out)
{
    const u32 *location = p->stack_locations.v + s->first; /* calls that are inlined have that of their caller */
    bool first = true;
    buf_printf(out, "%s{\"tid\":%u,\"name\":", out->data[out->len - 1] == '[' ? "" : ",", t->tid);
    buf_json(out, profile_text(p, p->processes.v[s->process].name));
    buf_printf(out, ",\"state\":\"%c\",\"running\":%s,\"moved\":%s,\"complete\":%s,\"end\":\"%s\",\"frames\":[",
               t->state, t->running ? "true" : "false", t->moved ? "true" : "false",
               cause_class(s->cause) == 'c' ? "true" : "false", cause_slug(s->cause));
    for (size_t i = f->n; i-- > 1;) {
        if (f->v[i].kind > FRAME_JIT)
            continue;
        buf_str(out, first ? "" : ",");
        add_json_frame(p, &f->v[i], p->locations.v[*location].address, out);
        location += !f->v[i].inlined;
        first = false;
    }
    buf_str(out, "]}");
}

int stack_json(u32 pid, const struct profile *p, const struct stacks_list *threads, struct buf *out)
{
    buf_printf(out, "{\"pid\":%u,\"threads\":[", pid);
    int rc = for_each(p, threads, out, add_json);
    buf_str(out, "]}\n");
    return rc;
}
