/* From instruction sequences (iseq) and method entries to names. A frame is known by its iseq, or if it is of a method,
 * by the entry of the method, which knows the class: its own iseq is then that of the method or one within that, and
 * the cookie tells which.
 */
#include "base/cleanup.h"
#include "runtime/ruby_internal.h"
#include <errno.h>
#include <string.h>

#define MAX_CODES (1u << 20)
#define MAX_SIZE  (1u << 22) /* words of code */
#define MAX_DEPTH 8          /* of blocks in blocks */
#define MAX_INNER 4096       /* iseqs of a method that are looked at */

#define ENTRY_DEF   16 /* rb_method_entry_t */
#define ENTRY_OWNER 32
#define DEF_BODY    8 /* rb_method_definition_t */
#define DEF_ID      32
#define DEF_ISEQ    0 /* VM_METHOD_TYPE_ISEQ */

/* ---- Bodies ----------------------------------------------------------------------------------------------------- */

static u64 body_of(struct memory *m, const struct ruby *r, u64 iseq)
{
    bool ok = ruby_is_imemo(m, iseq, RUBY_IMEMO_ISEQ);
    u64 body = ok ? memory_u(m, iseq + r->machine.ruby.iseq_body, sizeof(u64), &ok) : 0;
    return ruby_may_point(body) ? body : 0;
}

bool ruby_body_words(struct memory *m, const struct xp_ruby *x, u64 body, u64 *code, u64 words[3])
{
    bool ok = body != 0;
    *code = memory_u(m, body + x->body_code, sizeof(u64), &ok);
    return ok && memory_near(m, body + x->body_words, words, 3 * sizeof(*words));
}

static bool body_cookie(struct memory *m, const struct ruby *r, u64 body, u32 *cookie)
{
    u64 code, w[3];
    if (!ruby_body_words(m, &r->machine.ruby, body, &code, w))
        return false;
    *cookie = XP_SCRIPT_COOKIE(code, w[0], w[1], w[2]);
    return true;
}

static u32 size_of(struct memory *m, u64 body)
{
    bool ok = true;
    u32 size = (u32)memory_u(m, body + 4, sizeof(u32), &ok);
    return size <= MAX_SIZE ? size : 0;
}

/* The path that it was given, of [path, real path]. */
static u64 path_of(struct memory *m, const struct ruby_layout *l, u64 value)
{
    u64 flags;
    return ruby_is_a(m, value, RUBY_ARRAY, &flags) ? ruby_element(m, l, value, 0) : value;
}

bool ruby_iseq_sound(struct memory *m, const struct ruby *r, u64 iseq)
{
    AUTO_BUF struct buf text = {0};
    u64 code, w[3], body = body_of(m, r, iseq);
    return body && ruby_body_words(m, &r->machine.ruby, body, &code, w) && ruby_may_point(code) && size_of(m, body) &&
           ruby_text(m, &r->layout, path_of(m, &r->layout, w[0]), &text) && ruby_text(m, &r->layout, w[1], &text) &&
           ruby_text(m, &r->layout, w[2], &text);
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/* The label, in which the name of the method is the end: "block in each". */
static u32 add_label(struct ruby_query *q, u64 base, u64 label, const struct buf *prefix)
{
    const struct ruby_layout *l = &q->r->layout;
    AUTO_BUF struct buf all = {0};
    AUTO_BUF struct buf end = {0};
    AUTO_BUF struct buf name = {0};
    if (!ruby_text(q->m, l, label, &all))
        return 0;
    bool ends = prefix->len && ruby_text(q->m, l, base, &end) && end.len <= all.len &&
                (!end.len || !memcmp(all.data + all.len - end.len, end.data, end.len));
    size_t before = ends ? all.len - end.len : all.len;
    buf_add(&name, all.data, before);
    if (ends) {
        buf_add(&name, prefix->data, prefix->len);
        buf_add(&name, end.data, end.len);
    }
    return frame_reply_text_of(&q->reply, &name, true);
}

static void read_body(struct ruby_query *q, u64 body, const struct buf *prefix, struct ruby_code *c)
{
    AUTO_BUF struct buf path = {0};
    u64 code, w[3];
    if (!ruby_body_words(q->m, &q->r->machine.ruby, body, &code, w))
        return;
    c->cookie = XP_SCRIPT_COOKIE(code, w[0], w[1], w[2]);
    c->name = add_label(q, w[1], w[2], prefix);
    if (ruby_text(q->m, &q->r->layout, path_of(q->m, &q->r->layout, w[0]), &path))
        c->file = frame_reply_text_of(&q->reply, &path, true);
    c->body = body;
    c->size = size_of(q->m, body);
}

/* ---- Iseqs of a method ------------------------------------------------------------------------------------------ */

struct inner { /* a search among iseqs that have not been looked into yet */
    struct memory *m;
    const struct ruby *r;
    u32 cookie; /* wanted; 0: any */
    u64 found;  /* body */
    u32 n, looked;
    u64 iseqs[MAX_INNER];
};

static bool see_iseq(struct inner *s, u64 iseq, u64 body)
{
    u32 cookie;
    if (body_cookie(s->m, s->r, body, &cookie) && (!s->cookie || cookie == s->cookie))
        s->found = body;
    else if (s->n < MAX_INNER)
        s->iseqs[s->n++] = iseq;
    return s->found != 0;
}

static bool see_word(struct inner *s, u64 outer, u64 word)
{
    bool ok = true;
    u64 child = ruby_may_point(word) ? body_of(s->m, s->r, word) : 0;
    return child && memory_u(s->m, child + s->r->layout.parent, sizeof(u64), &ok) == outer && ok &&
           see_iseq(s, word, child);
}

static bool see_words(struct inner *s, u64 outer, u64 at, u64 bytes, u32 step)
{
    u8 some[1024];
    for (u64 done = 0, n; done + 8 <= bytes; done += n - 8 + step) {
        n = bytes - done < sizeof(some) ? bytes - done : sizeof(some);
        if (!memory_near(s->m, at + done, some, (size_t)n))
            return false;
        for (u64 i = 0; i + 8 <= n; i += step) {
            u64 word;
            memcpy(&word, some + i, sizeof(word));
            if (see_word(s, outer, word))
                return true;
        }
    }
    return false;
}

/* Blocks are operands of instructions of the code around them; those of rescue and ensure are in its catch table, which
 * is a number of entries of 32 bytes that is not aligned. */
static void look_into(struct inner *s, u64 outer)
{
    u64 w[3], code, body = body_of(s->m, s->r, outer);
    bool ok = true;
    if (!ruby_body_words(s->m, &s->r->machine.ruby, body, &code, w) ||
        see_words(s, outer, code, 8ull * size_of(s->m, body), 8))
        return;
    u64 table = memory_u(s->m, body + s->r->layout.parent - 8, sizeof(u64), &ok),
        n = table ? memory_u(s->m, table, sizeof(u32), &ok) : 0;
    if (ok && n && n <= MAX_INNER)
        see_words(s, outer, table + 4, 32 * n + 4, 4);
}

/* The body with this cookie, of the method's iseq or of one within; 0: there is none. */
static u64 body_within(struct memory *m, const struct ruby *r, u64 iseq, u32 cookie)
{
    AUTO_FREE struct inner *s = malloc(sizeof(*s));
    u64 body = body_of(m, r, iseq);
    if (!s || !body)
        return 0;
    s->m = m;
    s->r = r;
    s->cookie = cookie;
    s->found = s->n = s->looked = 0;
    for (see_iseq(s, iseq, body); s->looked < s->n && !s->found; s->looked++)
        look_into(s, s->iseqs[s->looked]);
    return s->found;
}

/* ---- Method entries --------------------------------------------------------------------------------------------- */

static bool entry_cookie(struct memory *m, const struct ruby *r, u64 entry, u32 *cookie)
{
    u64 w[3];
    if (!ruby_is_imemo(m, entry, RUBY_IMEMO_ENTRY) ||
        !memory_near(m, entry + r->machine.ruby.entry_words, w, sizeof(w)))
        return false;
    *cookie = XP_SCRIPT_COOKIE(0, w[0], w[1], w[2]);
    return true;
}

static void read_entry(struct ruby_query *q, u64 entry, u32 cookie, bool native, struct ruby_code *c)
{
    AUTO_BUF struct buf name = {0};
    bool ok = true;
    u64 def = memory_u(q->m, entry + ENTRY_DEF, sizeof(u64), &ok),
        owner = memory_u(q->m, entry + ENTRY_OWNER, sizeof(u64), &ok), type = memory_u(q->m, def, 1, &ok) & 15;
    if (!ok || !ruby_may_point(def))
        return;
    ruby_class_prefix(q->m, &q->r->layout, owner, &name);
    if (!native) {
        u64 iseq = type == DEF_ISEQ ? memory_u(q->m, def + DEF_BODY, sizeof(u64), &ok) : 0,
            body = body_within(q->m, q->r, iseq, cookie);
        if (body)
            read_body(q, body, &name, c);
    } else if (entry_cookie(q->m, q->r, entry, &c->cookie) &&
               ruby_symbol(q->m, &q->r->layout, memory_u(q->m, def + DEF_ID, sizeof(u64), &ok), &name)) {
        c->name = frame_reply_text_of(&q->reply, &name, true);
    }
}

/* ---- Frames ----------------------------------------------------------------------------------------------------- */

static struct ruby_code read_code(struct ruby_query *q, u64 at, u32 cookie, bool native)
{
    static const struct buf none;
    struct ruby_code c = {0};
    u64 body = native ? 0 : body_of(q->m, q->r, at);
    if (body)
        read_body(q, body, &none, &c);
    else if (ruby_is_imemo(q->m, at, RUBY_IMEMO_ENTRY))
        read_entry(q, at, cookie, native, &c);
    return c;
}

const struct ruby_code *ruby_code(struct ruby_query *q, const u64 *w)
{
    static const struct ruby_code none;
    u64 at = XP_WORD_ADDR(w[0]);
    u32 cookie = XP_MORE_COOKIE(w[1]);
    bool native = XP_MORE_POSITION(w[1]) == XP_RUBY_NATIVE;
    u64 key = (at << 1 | native) ^ (u64)cookie << 36;
    const u64 *known = map_get(&q->codes, key);
    if (known)
        return &q->known.v[*known - 1];
    if (q->known.n >= MAX_CODES) {
        q->reply.cut = true;
        return &none;
    }
    struct ruby_code c = read_code(q, at, cookie, native);
    struct ruby_code *to = VEC_PUSH(&q->known);
    u64 *place = to ? map_put(&q->codes, key) : NULL;
    if (!place)
        return NULL;
    *to = c;
    *place = q->known.n;
    return to;
}

bool ruby_same_code(struct ruby_query *q, const u64 *w)
{
    u64 at = XP_WORD_ADDR(w[0]);
    u32 cookie;
    const struct ruby_code *c = ruby_code(q, w);
    if (!c)
        return false;
    if (!c->body)
        return entry_cookie(q->m, q->r, at, &cookie) && cookie == c->cookie;
    return (body_of(q->m, q->r, at) == c->body || ruby_is_imemo(q->m, at, RUBY_IMEMO_ENTRY)) &&
           body_cookie(q->m, q->r, c->body, &cookie) && cookie == c->cookie;
}
