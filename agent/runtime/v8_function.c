/* From a SharedFunctionInfo, which all closures of a function share, to what it is called. Once a function has run, it
 * has a ScopeInfo, which has its name and place beside its variables (src/objects/scope-info.tq). */
#include "base/cleanup.h"
#include "runtime/v8_internal.h"
#include <string.h>

#define MAX_FUNCTIONS (1u << 20)
#define MAX_LOCALS    (1u << 16)
#define INLINE_LOCALS 75 /* their names, if there are fewer, are in the scope itself */
#define ANONYMOUS     "(anonymous)"
#define MAX_RETRIES   64 /* of texts, in a request */

/* Bits of the flags of a scope. */
enum {
    HAS_CLASS_VARIABLE = 1 << 10,
    HAS_NAME = 3 << 12,
    HAS_INFERRED_NAME = 1 << 14,
    RECEIVER_SHIFT = 7,
    ON_STACK = 1,
    IN_CONTEXT
};
enum { SLOT_FLAGS, SLOT_LOCALS = 2, SLOT_START = 3, PLACED_FIRST = 5 };

bool v8_function_cookie(struct memory *m, const struct v8 *v, u64 shared, u32 *cookie)
{
    u64 w[3];
    if (v8_type(m, v, shared) != v->layout.shared_type ||
        !memory_near(m, shared + v->machine.shared_script, w, sizeof(w)))
        return false;
    *cookie = XP_V8_COOKIE(w);
    return true;
}

/* False: there is none, or it cannot be read. */
static bool read_text(struct v8_query *q, u64 place, struct buf *out)
{
    bool ok = true;
    u64 string = v8_object(q->m, place, &ok);
    return ok && string && v8_text(q->m, q->v8, v8_now(q->m, string), out);
}

/* The offset of the text that a place refers to; 0: it is empty, or cannot be read. Those of a program that has just
 * begun are moved by the garbage collector: they are looked for once more. */
static u32 text_at(struct v8_query *q, u64 place)
{
    AUTO_BUF struct buf text = {0};
    bool ok = read_text(q, place, &text);
    if (!ok && q->retries < MAX_RETRIES) {
        q->retries++;
        memory_forget(q->m);
        ok = read_text(q, place, &text);
    }
    return frame_reply_text_of(&q->reply, &text, ok);
}

/* ---- Scopes ----------------------------------------------------------------------------------------------------- */

static u64 place_of_slot(u64 scope, u32 i)
{
    return scope + sizeof(u64) * (1 + (u64)i);
}

static u64 slot(struct v8_query *q, u64 scope, u32 i, bool *ok)
{
    return memory_u(q->m, place_of_slot(scope, i), sizeof(u64), ok);
}

static u32 text_in_slot(struct v8_query *q, u64 scope, u32 i, bool *ok)
{
    slot(q, scope, i, ok);
    return *ok ? text_at(q, place_of_slot(scope, i)) : 0;
}

static u32 place_of(u64 value)
{
    return v8_is_number(value) && v8_number(value) >= 0 ? (u32)v8_number(value) : V8_NOWHERE;
}

/* Up to V8 12 it is a number like others. */
static u32 flags_of(u64 value)
{
    return v8_is_number(value) ? (u32)v8_number(value) : (u32)value;
}

/* Whether it is in a place of its own (VariableAllocationInfo), which is noted. */
static bool has_receiver(u32 flags)
{
    u32 where = flags >> RECEIVER_SHIFT & 3;
    return where == ON_STACK || where == IN_CONTEXT;
}

/* Its names are behind those of its variables. */
static void read_scope(struct v8_query *q, u64 scope, struct v8_function *f)
{
    bool ok = true;
    const struct v8_layout *l = &q->v8->layout;
    u32 i = l->scope_first, flags = flags_of(slot(q, scope, SLOT_FLAGS, &ok));
    u32 locals = (u32)v8_number(slot(q, scope, SLOT_LOCALS, &ok));
    if (!ok || locals > MAX_LOCALS)
        return;
    i += locals < INLINE_LOCALS || l->old_scopes ? 2 * locals : locals + 1;
    i += flags & HAS_CLASS_VARIABLE ? 1 : 0;
    i += l->old_scopes && has_receiver(flags) ? 1 : 0;
    if (flags & HAS_NAME) {
        f->name = text_in_slot(q, scope, i, &ok);
        i += 2;
    }
    if (flags & HAS_INFERRED_NAME) {
        u32 inferred = text_in_slot(q, scope, i++, &ok);
        f->name = f->name ? f->name : inferred;
    }
    f->start = place_of(slot(q, scope, l->scope_first >= PLACED_FIRST ? SLOT_START : i, &ok));
    f->start = ok ? f->start : V8_NOWHERE;
}

/* ---- Functions -------------------------------------------------------------------------------------------------- */

static void read_script(struct v8_query *q, struct v8_function *f)
{
    const struct v8 *v = q->v8;
    bool ok = true;
    u64 script = v8_object(q->m, f->shared + v->machine.shared_script, &ok);
    if (v8_type(q->m, v, script) != v->layout.script_type)
        return;
    f->script = script;
    f->file = text_at(q, script + v->layout.script_name);
}

/* Functions of the language have a number in place of their bytecode. */
static struct v8_function read_function(struct v8_query *q, u64 shared)
{
    const struct v8_layout *l = &q->v8->layout;
    struct v8_function f = {.shared = shared, .start = V8_NOWHERE, .kind = RUNTIME_INTERPRETED};
    bool ok = true;
    if (!v8_function_cookie(q->m, q->v8, shared, &f.cookie))
        return f;
    u64 name = memory_u(q->m, shared + l->shared_name, sizeof(u64), &ok);
    u64 data = memory_u(q->m, shared + l->shared_data, sizeof(u64), &ok);
    if (!ok)
        return f;
    f.kind = v8_is_number(data) ? RUNTIME_NATIVE : RUNTIME_INTERPRETED;
    if (XP_V8_IS_OBJECT(name) && v8_type(q->m, q->v8, name - XP_V8_TAG) == l->scope_type)
        read_scope(q, name - XP_V8_TAG, &f);
    else
        f.name = text_at(q, shared + l->shared_name);
    read_script(q, &f);
    f.name = f.name ? f.name : frame_reply_text(&q->reply, ANONYMOUS, strlen(ANONYMOUS));
    return f;
}

const struct v8_function *v8_function(struct v8_query *q, u64 shared)
{
    static const struct v8_function none = {.start = V8_NOWHERE};
    const u64 *known = map_get(&q->functions, shared);
    if (known)
        return &q->known.v[*known - 1];
    if (q->known.n >= MAX_FUNCTIONS) {
        q->reply.cut = true;
        return &none;
    }
    struct v8_function f = read_function(q, shared);
    struct v8_function *to = VEC_PUSH(&q->known);
    u64 *place = to ? map_put(&q->functions, shared) : NULL;
    if (!place)
        return NULL;
    *to = f;
    *place = q->known.n;
    return to;
}
