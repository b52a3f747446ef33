/* From words of a stack to frames. Whether a function is still the same one is checked twice: when it is read, and once
 * more at the end. */
#include "base/cleanup.h"
#include "runtime/runtime.h"
#include "runtime/v8_internal.h"
#include <errno.h>
#include <string.h>

#define SOURCES ((u64)48 << 20) /* characters, for lines */

static bool is_v8(const u64 *w)
{
    return XP_WORD_KIND(w[0]) == XP_WORD_V8 && XP_WORD_KIND(w[1]) == XP_WORD_MORE;
}

/* The unwinder cannot read what is not in memory at that moment: then the cookie is 0. */
static bool fits(u32 cookie, const u64 *w)
{
    return XP_MORE_COOKIE(w[1]) == cookie || !XP_MORE_COOKIE(w[1]);
}

static bool is_gone(void *query, const u64 *w)
{
    const struct v8_query *q = query;
    u32 cookie;
    return is_v8(w) && (!v8_function_cookie(q->m, q->v8, XP_WORD_ADDR(w[0]), &cookie) || !fits(cookie, w));
}

static void add_pair(void *query, const u64 *w)
{
    struct v8_query *q = query;
    const struct v8_function *f = is_v8(w) ? v8_function(q, XP_WORD_ADDR(w[0])) : NULL;
    if (!is_v8(w)) {
        frame_reply_named(&q->reply, RUNTIME_INTERPRETED, "[javascript]");
    } else if (!f) {
        q->reply.texts.failed = true;
    } else if (!fits(f->cookie, w)) {
        return;
    } else if (!f->name) {
        frame_reply_named(&q->reply, RUNTIME_INTERPRETED, "[javascript]");
    } else {
        struct names_frame frame = {.start = f->kind, .name = f->name, .system_name = f->name, .file = f->file};
        frame.line = v8_line(q, f, XP_MORE_POSITION(w[1]));
        frame_reply_add(&q->reply, frame);
    }
}

int v8_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out)
{
    static const struct frame_reply_ops reply = {add_pair, is_gone, "[javascript: gone]"};
    struct v8 v;
    struct v8_query q = {.m = m, .v8 = &v, .source_left = SOURCES};
    if (v8_check(attached, len) || n % 2)
        return -EBADMSG;
    memcpy(&v, attached, sizeof(v));
    int rc = frame_reply_make(&q.reply, &reply, &q, m, words, n / 2, out);
    vec_free(&q.known);
    map_free(&q.functions);
    v8_lines_free(&q);
    return rc;
}
