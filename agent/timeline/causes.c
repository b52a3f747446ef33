#include "timeline/causes.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "bpf/xprof.h"
#include "proc/kallsyms.h"
#include "profile/wait_causes.h"
#include <errno.h>
#include <string.h>

#define UNKNOWN "[other]"

struct reason {
    char text[64];
    bool interrupt;
};
struct tl_causes {
    const struct timeline_probe *probe;
    struct kallsyms *names;
    struct map known; /* number of a stack and flags -> row + 1 of reasons */
    VEC(struct reason) reasons;
};

int causes_new(struct tl_causes **out, const struct timeline_probe *p)
{
    struct tl_causes *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->probe = p;
    if (kallsyms_new(&c->names, "/proc/kallsyms"))
        c->names = NULL;
    *out = c;
    return 0;
}

void causes_free(struct tl_causes **c)
{
    if (!*c)
        return;
    kallsyms_free(&(*c)->names);
    map_free(&(*c)->known);
    vec_free(&(*c)->reasons);
    free(TAKE_PTR(*c));
}

static size_t frames_of(const struct tl_causes *c, const struct tl_store *store, u32 stack, u64 frames[XP_TL_FRAMES])
{
    const struct tl_frames *f = store ? store_frames(store, stack) : NULL;
    if (!f)
        return stack && c->probe ? timeline_probe_stack(c->probe, stack - 1, frames) : 0;
    memcpy(frames, f->v, f->n * sizeof(*frames));
    return f->n;
}

/* Where the kernel was entered by an interrupt, or left one: what it did had nothing to do with the thread. */
static bool is_entry(const char *name)
{
    static const char *const entries[] = {"asm_common_interrupt", "asm_sysvec_",  "sysvec_",
                                          "common_interrupt",     "irq_exit_rcu", "__irq_exit"};
    for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
        if (!strncmp(name, entries[i], strlen(entries[i])))
            return true;
    return false;
}

static struct reason reason_of(const struct tl_causes *c, const struct tl_store *store, u32 stack, u8 flags)
{
    u64 frames[XP_TL_FRAMES];
    u8 functions[XP_TL_FRAMES];
    const char *names[XP_TL_FRAMES];
    struct reason r = {.text = UNKNOWN};
    size_t n = frames_of(c, store, stack, frames), named;
    for (size_t i = 0; i < n; i++) {
        struct kallsym k;
        names[i] = c->names && kallsyms_find(c->names, frames[i], &k) ? k.name : "";
        functions[i] = wait_function(names[i]);
        r.interrupt |= is_entry(names[i]);
    }
    unsigned wait = (flags & XP_TL_IO ? XP_WAIT_IO : 0) | (flags & XP_TL_DEEP ? XP_WAIT_DEEP : 0);
    enum wait_cause cause = wait_decide(functions, n, wait, &named);
    wait_text(cause, named < n ? names[named] : NULL, r.text, sizeof(r.text));
    return r;
}

static const struct reason *look_up(struct tl_causes *c, const struct tl_store *store, u32 stack, u8 flags)
{
    uint64_t *row = map_put(&c->known, (u64)stack << 8 | flags);
    if (row && !*row) {
        struct reason *r = VEC_PUSH(&c->reasons);
        if (!r)
            return NULL;
        *r = reason_of(c, store, stack, flags);
        *row = c->reasons.n;
    }
    return row ? &c->reasons.v[*row - 1] : NULL;
}

const char *causes_text(struct tl_causes *c, const struct tl_store *store, const struct tl_slice *s)
{
    const struct reason *r = look_up(c, store, s->stack, s->flags);
    return r ? r->text : UNKNOWN;
}

bool causes_interrupt(struct tl_causes *c, u32 key)
{
    const struct reason *r = look_up(c, NULL, key + 1, 0);
    return r && r->interrupt;
}
