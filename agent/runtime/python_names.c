/* From words of a stack to frames. Whether a code object is still the same one is checked twice: when it is read, and
 * once more at the end. Whatever had its names when the sample was taken, and has them then, had them all the time.
 */
#include "base/cleanup.h"
#include "runtime/python_internal.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <string.h>

#define LINE_BYTES ((u64)1 << 20) /* of tables of lines, and as many as below for each frame */
#define LINE_FRAME 2048

static bool is_python(const u64 *w)
{
    return XP_WORD_KIND(w[0]) == XP_WORD_SCRIPT && XP_WORD_KIND(w[1]) == XP_WORD_MORE;
}

static bool is_gone(void *query, const u64 *w)
{
    const struct python_query *q = query;
    u64 words[XP_PYTHON_WORDS];
    return is_python(w) && (!python_code_words(q->m, q->p, XP_WORD_ADDR(w[0]), words) ||
                            !frame_reply_fits(XP_PYTHON_COOKIE(words, words[XP_PYTHON_NAMES]), w));
}

static void add_pair(void *query, const u64 *w)
{
    struct python_query *q = query;
    u64 at = XP_WORD_ADDR(w[0]);
    const struct python_code *c = is_python(w) ? python_code(q, at) : NULL;
    if (!is_python(w)) {
        frame_reply_named(&q->reply, RUNTIME_INTERPRETED, "[python]");
    } else if (!c) {
        q->reply.texts.failed = true;
    } else if (!frame_reply_fits(c->cookie, w)) {
        return;
    } else if (!c->name) {
        frame_reply_named(&q->reply, RUNTIME_INTERPRETED, "[python]");
    } else {
        struct names_frame f = {.start = RUNTIME_INTERPRETED, .name = c->name, .system_name = c->name, .file = c->file};
        f.line = python_line(q, at, c, (s32)XP_MORE_POSITION(w[1]));
        frame_reply_add(&q->reply, f);
    }
}

int python_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out)
{
    static const struct frame_reply_ops reply = {add_pair, is_gone, "[python: gone]"};
    struct python p;
    struct python_query q = {.m = m, .p = &p, .line_bytes = LINE_BYTES + n * LINE_FRAME};
    if (python_check(attached, len) || n % 2)
        return -EBADMSG;
    memcpy(&p, attached, sizeof(p));
    int rc = frame_reply_make(&q.reply, &reply, &q, m, words, n / 2, out);
    vec_free(&q.known);
    map_free(&q.codes);
    return rc;
}
