/* From words of a stack to frames. Whether a function is still the same one is checked twice: when it is read, and once
 * more at the end. */
#include "base/cleanup.h"
#include "runtime/runtime.h"
#include "runtime/v8_internal.h"
#include <errno.h>
#include <string.h>

#define SOURCES       ((u64)48 << 20) /* characters, for lines */
#define TABLES        ((u64)4 << 20)  /* bytes, and as many as below for each frame */
#define TABLES_EACH   8192
#define SEARCHES      ((u64)2 << 20) /* steps back to the start of code: the same */
#define SEARCHES_EACH 512

static bool is_v8(const u64 *w)
{
    return XP_WORD_KIND(w[0]) == XP_WORD_V8 && XP_WORD_KIND(w[1]) == XP_WORD_MORE;
}

static bool is_compiled(const u64 *w)
{
    return XP_V8_FORM(w[0]) == XP_V8_COMPILED;
}

/* The unwinder cannot read what is not in memory at that moment: then the cookie is 0. */
static bool fits(u32 cookie, const u64 *w)
{
    u32 mask = is_compiled(w) ? 0xfff0000 : 0xfffffff, own = XP_MORE_COOKIE(w[1]) & mask;
    return own == (cookie & mask) || !own;
}

static bool is_gone(void *query, const u64 *w)
{
    const struct v8_query *q = query;
    u32 cookie;
    return is_v8(w) && (!v8_function_cookie(q->m, q->v8, XP_WORD_ADDR(w[0]), &cookie) || !fits(cookie, w));
}

static void add_frames(struct v8_query *q, const struct v8_function *f, const u64 *w)
{
    struct v8_function own = *f; /* others are read meanwhile */
    u32 form = XP_V8_FORM(w[0]);
    if (form == XP_V8_COMPILED && v8_compiled(q, &own, XP_V8_PC(w[1]), w[0] & XP_WORD_EXACT))
        return;
    v8_add(q, &own, own.kind, form == XP_V8_BYTECODE ? v8_place(q, &own, XP_MORE_POSITION(w[1])) : V8_NOWHERE);
}

static void add_pair(void *query, const u64 *w)
{
    struct v8_query *q = query;
    const struct v8_function *f = is_v8(w) ? v8_function(q, XP_WORD_ADDR(w[0])) : NULL;
    if (is_v8(w) && !f)
        q->reply.texts.failed = true;
    else if (is_v8(w) && !fits(f->cookie, w))
        return;
    else if (!f || !f->name)
        frame_reply_named(&q->reply, RUNTIME_INTERPRETED, "[javascript]");
    else
        add_frames(q, f, w);
}

int v8_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out)
{
    static const struct frame_reply_ops reply = {add_pair, is_gone, "[javascript: gone]"};
    struct v8 v;
    struct v8_query q = {.m = m,
                         .v8 = &v,
                         .source_left = SOURCES,
                         .table_left = TABLES + n / 2 * TABLES_EACH,
                         .search_left = SEARCHES + n / 2 * SEARCHES_EACH};
    if (v8_check(attached, len) || n % 2)
        return -EBADMSG;
    memcpy(&v, attached, sizeof(v));
    int rc = frame_reply_make(&q.reply, &reply, &q, m, words, n / 2, out);
    vec_free(&q.known);
    map_free(&q.functions);
    vec_free(&q.codes);
    v8_lines_free(&q);
    return rc;
}
