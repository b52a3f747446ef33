/* The thread states of a process, and where its threads have theirs: by pthread_setspecific, with a key that the
 * runtime keeps for itself (autoTSSkey). What a C library makes of that (runtime/thread_block.h) is found by looking
 * for known states behind the TLS bases of their threads, which are the thread IDs.
 */
#include "base/cleanup.h"
#include "runtime/python_internal.h"
#include "runtime/sound.h"
#include "runtime/thread_block.h"
#include <errno.h>

#define MAX_INTERPRETERS 1024
#define MAX_THREADS      4096
#define MAX_STATES       64 /* that are looked at */
#define MAX_STEPS        16 /* frames without code on top of a stack */
#define TRIES            3  /* frames change while they are read */

#define PTHREAD_BYTES 0x900 /* of struct pthread that are searched */

struct states {
    struct {
        u64 at, tls;
    } v[MAX_STATES];
    u32 n;
    u32 ids; /* distinct TLS bases of these */
};

/* ---- Lists ------------------------------------------------------------------------------------------------------ */

static void add_state(struct states *s, u64 at, u64 tls)
{
    bool is_new = true;
    if (s->n == MAX_STATES || !tls || tls % 8 || tls >= MAX_ADDRESS)
        return;
    for (u32 i = 0; i < s->n; i++)
        is_new &= s->v[i].tls != tls;
    s->v[s->n].at = at;
    s->v[s->n++].tls = tls;
    s->ids += is_new;
}

static void list_threads(struct memory *m, struct python_found *f, u64 interpreter, struct states *out)
{
    const struct python_lists *l = &f->lists;
    bool ok = true;
    u64 at = memory_u(m, interpreter + l->threads, sizeof(u64), &ok);
    while (ok && at && at < MAX_ADDRESS && f->threads < MAX_THREADS) {
        u64 tls = memory_u(m, at + f->p.machine.state_thread, sizeof(u64), &ok);
        if (memory_u(m, at + l->state_interpreter, sizeof(u64), &ok) != interpreter || !ok)
            return; /* it has ended meanwhile */
        f->threads++;
        add_state(out, at, tls);
        at = memory_u(m, at + l->state_next, sizeof(u64), &ok);
    }
}

static void list_all(struct memory *m, struct python_found *f, struct states *out)
{
    bool ok = true;
    u64 at = memory_u(m, f->runtime + f->lists.interpreters, sizeof(u64), &ok);
    *out = (struct states){0};
    for (f->interpreters = f->threads = 0; ok && at && at < MAX_ADDRESS && f->interpreters < MAX_INTERPRETERS;) {
        f->interpreters++;
        list_threads(m, f, at, out);
        at = memory_u(m, at + f->lists.interpreter_next, sizeof(u64), &ok);
    }
}

/* ---- Frames ----------------------------------------------------------------------------------------------------- */

enum verdict { NOTHING, SOUND, UNSOUND };

static u64 first_frame(struct memory *m, const struct xp_python *x, u64 state, bool *ok)
{
    if (x->state_frame)
        return memory_u(m, state + x->state_frame, sizeof(u64), ok);
    u64 cframe = memory_u(m, state + x->state_cframe, sizeof(u64), ok);
    return cframe ? memory_u(m, cframe + x->cframe_frame, sizeof(u64), ok) : 0;
}

static bool is_sound(struct memory *m, struct python_found *f, u64 code)
{
    AUTO_BUF struct buf text = {0};
    struct python_layout *l = &f->p.layout;
    u64 words[XP_PYTHON_WORDS];
    u32 size;
    return python_code_words(m, &f->p, code, words) && python_kind_shift(m, l, words[1]) &&
           python_text(m, l, words[0], &text) && python_text(m, l, words[1], &text) &&
           python_text(m, l, words[f->p.machine.names - 2], &text) &&
           python_bytes(m, l, words[f->p.machine.names - 1], &size);
}

static enum verdict check_state(struct memory *m, struct python_found *f, u64 state)
{
    const struct xp_python *x = &f->p.machine;
    bool ok = true;
    u64 at = first_frame(m, x, state, &ok);
    for (unsigned i = 0; i < MAX_STEPS && ok && at && at < MAX_ADDRESS; i++) {
        u64 owner = x->shape == XP_PYTHON_SHIM ? memory_u(m, at + x->frame_owner, 1, &ok) : 0;
        if (x->shape != XP_PYTHON_SHIM || owner < x->shim) {
            u64 code = memory_u(m, at + x->frame_code, sizeof(u64), &ok) & ~((1ull << x->tag_bits) - 1);
            return ok && is_sound(m, f, code) ? SOUND : UNSOUND;
        }
        at = memory_u(m, at + x->frame_back, sizeof(u64), &ok);
    }
    return ok && !at ? NOTHING : UNSOUND;
}

/* One thread is enough: all others may have changed their frames meanwhile. */
static int check_all(struct memory *m, struct python_found *f, const struct states *s)
{
    int rc = -EAGAIN;
    for (u32 i = 0; i < s->n; i++) {
        enum verdict v = check_state(m, f, s->v[i].at);
        if (v == SOUND)
            return 0;
        rc = v == UNSOUND ? -ENOTSUP : rc;
    }
    return rc;
}

/* ---- Places of states ------------------------------------------------------------------------------------------- */

static bool is_at(struct memory *m, u64 at, u64 state)
{
    bool ok = true;
    return memory_u(m, at, sizeof(u64), &ok) == state && ok;
}

static u32 count(struct memory *m, const struct states *s, struct thread_place place)
{
    u32 n = 0;
    for (u32 i = 0; i < s->n; i++) {
        bool ok = true;
        n += thread_block_value(m, s->v[i].tls, place, &ok) == s->v[i].at && ok;
    }
    return n;
}

/* Keys of others may have the same values in some threads: the place that holds for most of them counts; of equal ones,
 * the first, because the runtime makes its key early. A thread may have several states, or none of its own yet. */
struct best {
    struct thread_place place;
    u32 count;
};
static void consider(struct memory *m, const struct states *s, struct thread_place place, struct best *b)
{
    u32 n = count(m, s, place);
    if (n > b->count)
        *b = (struct best){place, n};
}

static void search_blocks(struct memory *m, const struct states *s, u32 from, u32 to, u32 start, u32 step, u32 end,
                          struct best *b)
{
    for (u32 offset = from; offset < to; offset += 8)
        for (u32 i = 0; i < s->n; i++) {
            bool ok = true;
            u64 values = memory_u(m, s->v[i].tls + offset, sizeof(u64), &ok);
            for (u32 slot = start; ok && values && values < MAX_ADDRESS && slot < end; slot += step)
                if (is_at(m, values + slot, s->v[i].at))
                    consider(m, s, (struct thread_place){offset, slot + 1}, b);
        }
}

static void search(struct memory *m, const struct states *s, struct best *b)
{
    for (u32 offset = GLIBC_FIRST; offset < GLIBC_BLOCKS; offset += 16)
        consider(m, s, (struct thread_place){offset, 0}, b);
    if (b->count)
        return;
    search_blocks(m, s, GLIBC_BLOCKS, GLIBC_END, GLIBC_IN_BLOCK, 16, GLIBC_BLOCK, b);
    if (b->count)
        return;
    search_blocks(m, s, 8, MUSL_POINTERS, 0, 8, MUSL_VALUES, b);
    if (b->count)
        return;
    for (u32 offset = 0; offset < PTHREAD_BYTES && s->ids > 1; offset += 8)
        consider(m, s, (struct thread_place){offset, 0}, b);
    if (b->count == 1) /* that may be anything */
        b->count = 0;
}

/* ---- All of it -------------------------------------------------------------------------------------------------- */

int python_threads(struct memory *m, struct python_found *f)
{
    struct states s;
    struct best best = {0};
    int rc = -ENOTSUP;
    for (unsigned i = 0; i < TRIES && rc == -ENOTSUP; i++) {
        if (i)
            memory_forget(m);
        list_all(m, f, &s);
        rc = check_all(m, f, &s);
    }
    if (rc && rc != -EAGAIN)
        return rc;
    search(m, &s, &best);
    f->p.machine.tls = best.place.tls;
    f->p.machine.slot = best.place.slot;
    if (rc) /* servers seldom have frames when they are looked at; that threads have their states is enough */
        f->p.layout.kind_shift = f->p.layout.free_threaded ? 8 : 2;
    return best.count ? 0 : rc ? rc : -ENOTSUP;
}
