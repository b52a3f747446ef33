#include "profile/locks.h"
#include "base/cleanup.h"
#include "profile/frames.h"
#include "profile/kernel_locks.h"
#include "profile/lock_kinds.h"
#include "profile/lookup.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX   "[lock: "
#define MAX_DEEP 128 /* frames next to the leaf: what waits is among them */

bool lock_is(const char *function)
{
    return !strcmp(function, LOCK_UNNAMED) || !strncmp(function, PREFIX, strlen(PREFIX));
}

void lock_text(struct buf *out, const char *base, const char *name, u64 offset)
{
    buf_printf(out, PREFIX "%s", name ? name : base);
    if (offset || !name)
        buf_printf(out, "+0x%llx", (unsigned long long)offset);
    buf_str(out, "]");
    buf_char(out, 0);
}

const struct prof_location *stack_lock(const struct profile *p, const struct prof_stack *s)
{
    const struct prof_location *leaf = s->n ? &p->locations.v[p->stack_locations.v[s->first]] : NULL;
    return leaf && leaf->origin == FRAME_WAIT && leaf->word_kind == XP_WORD_LOCK ? leaf : NULL;
}

/* ---- Labels ------------------------------------------------------------------------------------------------------ */

void lock_label(const struct profile *p, const struct prof_location *l, struct buf *out)
{
    const char *path = profile_text(p, p->mappings.v[l->mapping].name), *text = profile_function(p, l);
    const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : path;
    bool named = !strncmp(text, PREFIX, strlen(PREFIX));
    size_t skip = named ? strlen(PREFIX) : 1, len = strlen(text), known = strlen(base);
    len = len > skip ? len - skip - 1 : 0;
    text += len ? skip : 0;
    if (!l->address) /* one of many */
        buf_add(out, text, len);
    else if (path[0] == '[') /* in no file */
        buf_printf(out, "%.*s 0x%llx", (int)len, text, (unsigned long long)l->address);
    else if (!named)
        buf_printf(out, "%s+0x%llx", base, (unsigned long long)l->address);
    else if (!strncmp(text, base, known) && !strncmp(text + known, "+0x", 3))
        buf_add(out, text, len);
    else
        buf_printf(out, "%.*s (%s)", (int)len, text, base);
}

/* ---- What the functions of a stack say of its lock --------------------------------------------------------------- */

#define NOT_YET 0xff

#define ALL UINT32_MAX

struct renamed { /* a lock's location or ALL, and the one that takes its place under this name */
    u32 location, name, instead;
};

struct judge {
    struct profile *p;
    bool *is_lock; /* by location: somebody waits for it as for a lock */
    u8 *functions; /* by row: what lock_function says of either name; NOT_YET */
    VEC(struct renamed) renamed;
    struct lookup places;    /* in `renamed` */
    const char *called_here; /* in the stack at hand; NULL: by its variable */
};

static lock_word word_of(struct judge *j, u32 function)
{
    const struct prof_function *f = &j->p->functions.v[function];
    u8 *known = &j->functions[function];
    if (*known != NOT_YET)
        return *known;
    lock_word shown = lock_function(profile_text(j->p, f->name));
    lock_word symbol = f->system_name == f->name ? 0 : lock_function(profile_text(j->p, f->system_name));
    return *known = symbol >> 4 > shown >> 4 ? symbol : shown;
}

static enum lock_kind kind_of(struct judge *j, const struct prof_stack *s)
{
    lock_word functions[MAX_DEEP];
    size_t n = 0;
    j->called_here = NULL;
    for (u32 i = 1; i < s->n && n < MAX_DEEP; i++) {
        const struct prof_location *l = &j->p->locations.v[j->p->stack_locations.v[s->first + i]];
        for (u32 k = 0; k < l->nlines && n < MAX_DEEP && l->origin != FRAME_KERNEL; k++) {
            u32 function = j->p->lines.v[l->first_line + k].function;
            functions[n] = word_of(j, function);
            if (functions[n++] && !j->called_here)
                j->called_here = lock_called(profile_text(j->p, j->p->functions.v[function].name));
        }
    }
    return lock_decide(functions, n);
}

/* Another location for the lock, with a name that says more than its variable; the same for the same. `all`: one for
 * all locks with this name. */
static int call(struct judge *j, u32 *location, const char *frame, bool all)
{
    struct profile *p = j->p;
    u32 name = profile_string(p, frame), from = all ? ALL : *location, row;
    u64 hash = hash_u64((u64)from << 32 | name);
    for (struct probe at = lookup_start(&j->places, hash); lookup_next(&j->places, &at, &row);)
        if (j->renamed.v[row].location == from && j->renamed.v[row].name == name) {
            *location = j->renamed.v[row].instead;
            return 0;
        }
    row = (u32)j->renamed.n;
    struct renamed *r = VEC_PUSH(&j->renamed);
    struct prof_location as = p->locations.v[*location];
    as.address = all ? 0 : as.address;
    if (!r || lookup_put(&j->places, hash, row) || profile_add_location(p, name, as, location))
        return -ENOMEM;
    *r = (struct renamed){from, name, *location};
    return 0;
}

/* What is called by its function and is in no file is a variable of the thread that waits, as for a monitor of Java:
 * its address does not say which lock it is. */
static int call_by_function(struct judge *j, const struct prof_stack *s)
{
    AUTO_BUF struct buf text = {0};
    bool all = profile_text(j->p, j->p->mappings.v[stack_lock(j->p, s)->mapping].name)[0] == '[';
    lock_text(&text, "", j->called_here, 0);
    return text.failed ? -ENOMEM : call(j, &j->p->stack_locations.v[s->first], text.data, all);
}

/* ---- Locks of the kernel ----------------------------------------------------------------------------------------- */

static const char *kernel_function(const struct profile *p, const struct prof_stack *s, u32 i)
{
    const struct prof_location *l = i < s->n ? &p->locations.v[p->stack_locations.v[s->first + i]] : NULL;
    return l && l->origin == FRAME_KERNEL ? profile_function(p, l) : NULL;
}

/* Leaves out the functions of the tracepoint, behind the leaf. */
static void leave_out_tracing(const struct profile *p, struct prof_stack *s)
{
    const char *function;
    while ((function = kernel_function(p, s, 1)) && kernel_lock_traces(function)) {
        p->stack_locations.v[s->first + 1] = p->stack_locations.v[s->first];
        s->first++;
        s->n--;
    }
}

/* "[lock: mutex]" becomes "[lock: mutex in do_renameat2]". That of a process's mappings has a name of its own. */
static int call_by_taker(struct judge *j, struct prof_stack *s)
{
    const char *lock = profile_function(j->p, stack_lock(j->p, s)), *function;
    AUTO_BUF struct buf text = {0};
    u32 i = 1;
    leave_out_tracing(j->p, s);
    while ((function = kernel_function(j->p, s, i)) && kernel_lock_takes(function))
        i++;
    if (!function || function[0] == '[' || !strcmp(lock, LOCK_MMAP) || strstr(lock, " in ")) /* or it has one */
        return 0;
    buf_printf(&text, "%.*s in %.*s]", (int)strcspn(lock, "]"), lock, (int)strcspn(function, "."), function);
    buf_char(&text, 0);
    return text.failed ? -ENOMEM : call(j, &j->p->stack_locations.v[s->first], text.data, false);
}

/* The kernel waits for its own locks whatever the program does. */
static bool is_futex(const struct profile *p, const struct prof_location *lock)
{
    return lock && strcmp(profile_text(p, p->mappings.v[lock->mapping].name), KERNEL_MAPPING) != 0;
}

/* Threads that do this for long have nothing to do. A nanosleep is not among them: it is a pause of its own choice. */
static bool is_idle(struct judge *j, const struct prof_stack *s)
{
    static const char *const loops[] = {"[epoll]", "[poll]", "[inotify]", "[eventfd]", "[timerfd]", "[signal]"};
    const char *cause = profile_text(j->p, stack_wait(j->p, s));
    for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++)
        if (!strcmp(cause, loops[i]))
            return true;
    return !strcmp(cause, "[lock]") && !stack_lock(j->p, s) && kind_of(j, s) != LOCK_KIND_LOCK;
}

static void leave_out(const struct prof_stack *s, u64 *count, u64 *value)
{
    *count += s->count[0];
    *value += s->value[0];
}

/* Notes what is waited for by locks, so that waits without a stack are judged like the others of the same. */
static void see_locks(struct judge *j)
{
    const struct profile *p = j->p;
    for (size_t i = 0; i < p->stacks.n; i++) {
        const struct prof_stack *s = &p->stacks.v[i];
        if (s->cause != XP_CAUSE_NOT_TAKEN && is_futex(p, stack_lock(p, s)) && kind_of(j, s) == LOCK_KIND_LOCK)
            j->is_lock[p->stack_locations.v[s->first]] = true;
    }
}

static bool is_for_lock(struct judge *j, const struct prof_stack *s)
{
    enum lock_kind kind = kind_of(j, s);
    return s->cause == XP_CAUSE_NOT_TAKEN ? j->is_lock[j->p->stack_locations.v[s->first]] : kind == LOCK_KIND_LOCK;
}

int locks_judge(struct profile *p, bool hide_idle)
{
    AUTO_FREE u8 *functions = malloc(p->functions.n + 1);
    AUTO_FREE bool *is_lock = calloc(p->locations.n + 1, sizeof(*is_lock));
    struct judge j = {.p = p, .functions = functions, .is_lock = is_lock};
    size_t n = 0;
    int r = functions && is_lock ? 0 : -ENOMEM;
    if (!r) {
        memset(functions, NOT_YET, p->functions.n + 1);
        see_locks(&j);
    }
    for (size_t i = 0; i < p->stacks.n && !r; i++) {
        struct prof_stack *s = &p->stacks.v[i];
        bool futex = is_futex(p, stack_lock(p, s));
        if (futex && !is_for_lock(&j, s)) {
            leave_out(s, &p->left_out.count, &p->left_out.value);
            continue;
        }
        if (hide_idle && is_idle(&j, s)) {
            leave_out(s, &p->idle.count, &p->idle.value);
            continue;
        }
        if (futex && j.called_here)
            r = call_by_function(&j, s);
        else if (!futex && stack_lock(p, s))
            r = call_by_taker(&j, s);
        p->stacks.v[n++] = *s;
    }
    p->stacks.n = r ? p->stacks.n : n;
    vec_free(&j.renamed);
    lookup_free(&j.places);
    return r;
}
