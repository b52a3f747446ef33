/* From words of a stack to frames. What owns their addresses is checked twice: when it is read, and once more at the
 * end. Whoever had them when the sample was taken, and has them then, had them all the time.
 */
#include "base/cleanup.h"
#include "runtime/hotspot_internal.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <string.h>

struct word {
    enum xp_java_form form;
    u64 at;
    u32 cookie, position;
    bool exact;
};

static struct word word_of(const u64 *w)
{
    if (XP_WORD_KIND(w[0]) != XP_WORD_JAVA) /* of another runtime in the process: nothing has this form */
        return (struct word){.form = XP_JAVA_FROZEN};
    return (struct word){.form = XP_JAVA_FORM(w[0]),
                         .at = XP_JAVA_ADDRESS(w[0]),
                         .exact = (w[0] & XP_WORD_EXACT) != 0,
                         .cookie = XP_MORE_COOKIE(w[1]),
                         .position = XP_MORE_POSITION(w[1])};
}

/* ---- Owners ----------------------------------------------------------------------------------------------------- */

static bool is_nmethod(struct hotspot_query *q, const struct word *w, enum hotspot_blob kind)
{
    const struct hotspot_layout *l = &q->h->layout;
    bool ok = kind == HOTSPOT_NMETHOD || kind == HOTSPOT_NATIVE;
    u32 id = (u32)memory_u(q->m, w->at + q->h->jvm.method_id, sizeof(u32), &ok);
    int8_t state = (int8_t)memory_u(q->m, w->at + l->nmethod_state, sizeof(u8), &ok);
    u64 method = memory_u(q->m, w->at + l->nmethod_method, sizeof(u64), &ok);
    return ok && (id & 0xfffffff) == w->cookie && state < (int8_t)l->dead_state && method;
}

/* The unwinder cannot read what is not in memory at that moment. */
static bool is_method(struct hotspot_query *q, const struct word *w)
{
    const struct xp_jvm *j = &q->h->jvm;
    bool ok = true;
    u64 constmethod = memory_u(q->m, w->at + j->constmethod, sizeof(u64), &ok);
    u64 pool = memory_u(q->m, constmethod + j->const_pool, sizeof(u64), &ok);
    u64 klass = memory_u(q->m, pool + j->pool_holder, sizeof(u64), &ok);
    u64 name = memory_u(q->m, klass + j->klass_name, sizeof(u64), &ok);
    u16 hash = (u16)memory_u(q->m, name + j->symbol_hash, sizeof(u16), &ok);
    return ok &&
           (w->cookie == XP_JAVA_COOKIE(constmethod, name, hash) || w->cookie == XP_JAVA_COOKIE(constmethod, 0, 0));
}

/* What is at the address; HOTSPOT_NONE: not what was there. For an interpreted method any other value. */
static enum hotspot_blob owner(struct hotspot_query *q, const struct word *w, char name[HOTSPOT_BLOB_NAME])
{
    if (w->form == XP_JAVA_INTERPRETED)
        return is_method(q, w) ? HOTSPOT_NMETHOD : HOTSPOT_NONE;
    enum hotspot_blob kind = hotspot_blob(q, w->at, name);
    if (w->form == XP_JAVA_COMPILED)
        return is_nmethod(q, w, kind) ? kind : HOTSPOT_NONE;
    return w->form == XP_JAVA_STUB && kind == HOTSPOT_STUB ? kind : HOTSPOT_NONE;
}

/* ---- Frames ----------------------------------------------------------------------------------------------------- */

static void add_method(struct hotspot_query *q, u64 method, u32 bci, enum runtime_kind kind)
{
    const struct hotspot_method *m = hotspot_method(q, method);
    if (!m) {
        q->reply.texts.failed = true;
    } else if (!m->name) {
        frame_reply_named(&q->reply, kind, "[java]");
    } else {
        struct names_frame f = {.start = kind, .name = m->name, .system_name = m->system_name, .file = m->file};
        if (kind == RUNTIME_INTERPRETED && !m->code_size)
            f.start = RUNTIME_NATIVE;
        f.line = hotspot_line(q, m, bci);
        frame_reply_add(&q->reply, f);
    }
}

static void add_compiled(struct hotspot_query *q, const struct word *w, enum hotspot_blob kind)
{
    struct hotspot_scopes s;
    if (!hotspot_scopes(q, w->at, w->position, w->exact, &s)) {
        frame_reply_named(&q->reply, RUNTIME_C1, "[java]");
        return;
    }
    enum runtime_kind own = kind == HOTSPOT_NATIVE ? RUNTIME_NATIVE : s.level >= 4 ? RUNTIME_C2 : RUNTIME_C1;
    for (u32 i = 0; i < s.n; i++)
        add_method(q, s.v[i].method, s.v[i].bci, i + 1 < s.n ? RUNTIME_INLINED : own);
}

static void add_stub(struct hotspot_query *q, const char *name)
{
    AUTO_BUF struct buf text = {0};
    buf_str(&text, "[jvm: ");
    hotspot_spell(&text, name, strlen(name));
    buf_str(&text, "]");
    buf_char(&text, 0);
    if (!text.failed)
        frame_reply_named(&q->reply, RUNTIME_STUB, text.data);
}

static void add_word(struct hotspot_query *q, const struct word *w)
{
    char name[HOTSPOT_BLOB_NAME];
    enum hotspot_blob kind = owner(q, w, name);
    if (kind == HOTSPOT_NONE)
        return;
    if (w->form == XP_JAVA_INTERPRETED)
        add_method(q, w->at, w->position, RUNTIME_INTERPRETED);
    else if (w->form == XP_JAVA_COMPILED)
        add_compiled(q, w, kind);
    else
        add_stub(q, name);
}

/* ---- The reply -------------------------------------------------------------------------------------------------- */

static void add_pair(void *query, const u64 *pair)
{
    struct word w = word_of(pair);
    add_word(query, &w);
}

static bool is_gone(void *query, const u64 *pair)
{
    struct word w = word_of(pair);
    char name[HOTSPOT_BLOB_NAME];
    return owner(query, &w, name) == HOTSPOT_NONE;
}

int hotspot_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out)
{
    static const struct frame_reply_ops reply = {add_pair, is_gone, "[java: gone]"};
    struct hotspot h;
    struct hotspot_query q = {.m = m, .h = &h};
    if (hotspot_check(attached, len) || n % 2)
        return -EBADMSG;
    memcpy(&h, attached, sizeof(h));
    int rc = frame_reply_make(&q.reply, &reply, &q, m, words, n / 2, out);
    vec_free(&q.known);
    map_free(&q.methods);
    return rc;
}
