/* From words of a stack to frames. Whether code is still the same is checked twice: when it is read, and once more at
 * the end. What is the same when the sample was taken and at the end was so all the time.
 */
#include "runtime/ruby_internal.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <string.h>

static bool is_gone(void *query, const u64 *w)
{
    return frame_reply_is(XP_LANGUAGE_RUBY, w) && !ruby_same_code(query, w);
}

static void add_pair(void *query, const u64 *w)
{
    struct ruby_query *q = query;
    const struct ruby_code *c = frame_reply_is(XP_LANGUAGE_RUBY, w) ? ruby_code(q, w) : NULL;
    bool native = XP_MORE_POSITION(w[1]) == XP_RUBY_NATIVE;
    if (!frame_reply_is(XP_LANGUAGE_RUBY, w)) {
        frame_reply_named(&q->reply, RUNTIME_INTERPRETED, "[ruby]");
    } else if (!c) {
        q->reply.texts.failed = true;
    } else if (!frame_reply_fits(c->cookie, w)) {
        return;
    } else if (!c->name) {
        frame_reply_named(&q->reply, native ? RUNTIME_NATIVE : RUNTIME_INTERPRETED, "[ruby]");
    } else {
        struct names_frame f = {.start = native ? RUNTIME_NATIVE : RUNTIME_INTERPRETED,
                                .name = c->name,
                                .system_name = c->name,
                                .file = c->file};
        f.line = native ? 0 : ruby_line(q, c, XP_MORE_POSITION(w[1]));
        frame_reply_add(&q->reply, f);
    }
}

int ruby_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out)
{
    static const struct frame_reply_ops reply = {add_pair, is_gone, "[ruby: gone]"};
    struct ruby r;
    struct ruby_query q = {.m = m, .r = &r};
    if (ruby_check(attached, len) || n % 2)
        return -EBADMSG;
    memcpy(&r, attached, sizeof(r));
    int rc = frame_reply_make(&q.reply, &reply, &q, m, words, n / 2, out);
    vec_free(&q.known);
    map_free(&q.codes);
    return rc;
}
