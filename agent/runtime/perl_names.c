/* From words of a stack to frames. Whether a sub is still the same one is checked twice: when it is read, and once more
 * at the end. Its statements are its own, so that they are there as long as it is.
 */
#include "base/cleanup.h"
#include "runtime/perl_internal.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <string.h>

#define NO_LINE 0x7fffffffu /* NOLINE (cop.h), as far as it fits */

static bool has_line(const u64 *w)
{
    return XP_MORE_POSITION(w[1]) & 1;
}

static bool fits(const struct perl_mark *mark, const u64 *w)
{
    return frame_reply_fits(mark->cookie, w) && (!mark->over || has_line(w));
}

static bool is_gone(void *query, const u64 *w)
{
    const struct perl_query *q = query;
    struct perl_mark mark;
    return frame_reply_is(XP_LANGUAGE_PERL, w) &&
           (!perl_mark(q->m, q->p, XP_WORD_ADDR(w[0]), &mark) || !fits(&mark, w));
}

static void add_place(struct perl_query *q, const u64 *w, struct names_frame *f)
{
    u32 position = XP_MORE_POSITION(w[1]);
    if (has_line(w))
        f->line = position >> 1 < NO_LINE ? position >> 1 : 0;
    else if (position)
        perl_place(q, XP_WORD_ADDR(w[0]) + (u64)((s64)((s32)position >> 1) * 8), &f->file, &f->line);
}

static void add_pair(void *query, const u64 *w)
{
    struct perl_query *q = query;
    const struct perl_sub *s = frame_reply_is(XP_LANGUAGE_PERL, w) ? perl_sub(q, XP_WORD_ADDR(w[0])) : NULL;
    if (!frame_reply_is(XP_LANGUAGE_PERL, w)) {
        frame_reply_named(&q->reply, RUNTIME_INTERPRETED, "[perl]");
    } else if (!s) {
        q->reply.texts.failed = true;
    } else if (!fits(&s->mark, w)) {
        return;
    } else if (!s->name) {
        frame_reply_named(&q->reply, RUNTIME_INTERPRETED, "[perl]");
    } else {
        struct names_frame f = {.start = RUNTIME_INTERPRETED, .name = s->name, .system_name = s->name, .file = s->file};
        add_place(q, w, &f);
        frame_reply_add(&q->reply, f);
    }
}

int perl_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out)
{
    static const struct frame_reply_ops reply = {add_pair, is_gone, "[perl: gone]"};
    struct perl p;
    struct perl_query q = {.m = m, .p = &p};
    if (perl_check(attached, len) || n % 2)
        return -EBADMSG;
    memcpy(&p, attached, sizeof(p));
    int rc = frame_reply_make(&q.reply, &reply, &q, m, words, n / 2, out);
    vec_free(&q.known);
    map_free(&q.subs);
    map_free(&q.files);
    return rc;
}
